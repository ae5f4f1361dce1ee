// SPDX-License-Identifier: MIT
module gohttp

go 1.19
