/* SPDX-License-Identifier: MIT */
/*
 * Arguments of a goroutine, as the calling convention passes them: up to 14
 * in registers, and the first two words on the stack (8 integers are 6
 * registers and 2 words). Layout of the 16 words:
 *
 *	0-1	rdi rsi
 *	2-7	rdx rcx r8 r9, stack words 0 and 1
 *	8-15	xmm0-7 (low halves)
 *
 * Each kind of capture stores a prefix of that. Contract: arch/capture.h.
 */
	.text

	.macro	function name
	.globl	\name
	.type	\name, @function
\name:
	.cfi_startproc
	.endm

	.macro	end name
	.cfi_endproc
	.size	\name, . - \name
	.endm

/* The destination is in struct self. Only rax, r10 and r11 are free. */
	.macro	load_args_pointer
	movq	self_tls@gottpoff(%rip), %r11
	movq	%fs:8(%r11), %r11
	.endm

	.macro	store_two
	movq	%rdi, 0(%r11)
	movq	%rsi, 8(%r11)
	.endm

	.macro	store_eight
	store_two
	movq	%rdx, 16(%r11)
	movq	%rcx, 24(%r11)
	movq	%r8, 32(%r11)
	movq	%r9, 40(%r11)
	movq	8(%rsp), %rax		/* arguments or not: it is readable */
	movq	16(%rsp), %r10
	movq	%rax, 48(%r11)
	movq	%r10, 56(%r11)
	.endm

function weft_go_capture2_
	load_args_pointer
	store_two
	ret
end weft_go_capture2_

function weft_go_capture_
	load_args_pointer
	store_eight
	movq	%xmm0, 64(%r11)
	movq	%xmm1, 72(%r11)
	movq	%xmm2, 80(%r11)
	movq	%xmm3, 88(%r11)
	movq	%xmm4, 96(%r11)
	movq	%xmm5, 104(%r11)
	movq	%xmm6, 112(%r11)
	movq	%xmm7, 120(%r11)
	ret
end weft_go_capture_

/* args_call(void (*fn)(void), const uint64_t args[16]): fn's rax or xmm0 */
	.section weft_calls, "ax", @progbits
	.hidden	args_call, args_call_real
	.globl	args_call_real
	.set	args_call_real, args_call
function args_call
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register rbp
	movq	%rdi, %r10
	movq	%rsi, %r11
	movq	64(%r11), %xmm0
	movq	72(%r11), %xmm1
	movq	80(%r11), %xmm2
	movq	88(%r11), %xmm3
	movq	96(%r11), %xmm4
	movq	104(%r11), %xmm5
	movq	112(%r11), %xmm6
	movq	120(%r11), %xmm7
	pushq	56(%r11)
	pushq	48(%r11)
	movq	0(%r11), %rdi
	movq	8(%r11), %rsi
	movq	16(%r11), %rdx
	movq	24(%r11), %rcx
	movq	32(%r11), %r8
	movq	40(%r11), %r9
	movl	$8, %eax		/* for a variadic fn: all of xmm0-7 */
	call	*%r10
	leave
	.cfi_def_cfa rsp, 8
	ret
end args_call
	.section .note.GNU-stack, "", @progbits
