/* SPDX-License-Identifier: MIT */
/* void gc_on_stack(void (*fn)(void *arg), void *arg, void *top): heap.h. */
	.section .note.GNU-stack,"",@progbits
	.text
	.globl	gc_on_stack
	.hidden	gc_on_stack
	.type	gc_on_stack, @function
gc_on_stack:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	movq	%rdi, %rax
	movq	%rsi, %rdi
	movq	%rdx, %rsp
	call	*%rax
	movq	%rbp, %rsp
	popq	%rbp
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size	gc_on_stack, . - gc_on_stack
