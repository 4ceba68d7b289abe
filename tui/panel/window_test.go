package panel

import "testing"

func TestKernelNames(t *testing.T) {
	for name, want := range map[string]string{
		"fused_moe_kernel": "fused_moe_kernel",
		"void vllm::moe::topkGating<8, 128, 4>(float const*, int)":                                                      "topkGating",
		"void cutlass::device_kernel<flash::enable_sm80_to_sm89<flash::FlashAttnFwdSm90<x>>>(flash::Params)":            "device_kernel<FlashAttnFwdSm90>",
		"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>>>(at::Reduce)": "reduce_kernel<ReduceOp>",
		"void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float, float>(float*, float const*, int)":       "cunn_SoftMaxForward",
		"Memcpy DtoD (Device -> Device)":                "Memcpy DtoD",
		"triton_red_fused_add_0":                        "triton_red_fused_add_0",
		"nvjet_sm90_tst_64x8_64x16_4x1_v_bz_splitK_TNT": "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_splitK_TNT",
		"": "", "::": "::", "<": "<", "a::b<": "b", "(x)": "(x)",
	} {
		if got := KernelName(name); got != want {
			t.Errorf("%q is shown as %q, want %q", name, got, want)
		}
	}
}
