/* SPDX-License-Identifier: MIT */
/*
 * Arguments of a goroutine, as the calling convention passes them: 8 integers
 * and 8 floating-point values in registers. A struct of two floats takes two
 * of these, so four such structs still fit. Layout of the 16 words: x0-x7,
 * d0-d7. Each kind of capture stores a prefix. Contract: arch/capture.h.
 */
	.text

	.macro	function name
	.globl	\name
	.type	\name, %function
\name:
	.cfi_startproc
	.endm

	.macro	end name
	.cfi_endproc
	.size	\name, . - \name
	.endm

/* The destination is in struct self. Only x16 and x17 are free. */
	.macro	load_args_pointer
	mrs	x17, tpidr_el0
	adrp	x16, :gottprel:self_tls
	ldr	x16, [x16, #:gottprel_lo12:self_tls]
	add	x16, x16, x17
	ldr	x16, [x16, #8]
	.endm

	.macro	store_eight
	stp	x0, x1, [x16]
	stp	x2, x3, [x16, #16]
	stp	x4, x5, [x16, #32]
	stp	x6, x7, [x16, #48]
	.endm

function weft_go_capture2_
	load_args_pointer
	stp	x0, x1, [x16]
	ret
end weft_go_capture2_

function weft_go_capture_
	load_args_pointer
	store_eight
	stp	d0, d1, [x16, #64]
	stp	d2, d3, [x16, #80]
	stp	d4, d5, [x16, #96]
	stp	d6, d7, [x16, #112]
	ret
end weft_go_capture_

/* args_call(void (*fn)(void), const uint64_t args[16]): fn's x0 or d0 */
	.section weft_calls, "ax", %progbits
	.hidden	args_call, args_call_real
	.globl	args_call_real
	.set	args_call_real, args_call
function args_call
	stp	x29, x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset x29, -16
	.cfi_offset x30, -8
	mov	x29, sp
	mov	x16, x0
	mov	x17, x1
	ldp	x0, x1, [x17]
	ldp	x2, x3, [x17, #16]
	ldp	x4, x5, [x17, #32]
	ldp	x6, x7, [x17, #48]
	ldp	d0, d1, [x17, #64]
	ldp	d2, d3, [x17, #80]
	ldp	d4, d5, [x17, #96]
	ldp	d6, d7, [x17, #112]
	blr	x16
	ldp	x29, x30, [sp], #16
	.cfi_restore x29
	.cfi_restore x30
	.cfi_def_cfa_offset 0
	ret
end args_call
	.section .note.GNU-stack, "", %progbits
