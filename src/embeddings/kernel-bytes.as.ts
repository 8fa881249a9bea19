// AssemblyScript. kernel-bytes.wasm beside it was made from this file and kernel-common.as.ts (sha256 05c5f48e…), and comes out the same every time, with
//   npx assemblyscript@0.28.20 asc kernel-bytes.as.ts -o kernel-bytes.wasm -O3 --noAssert --runtime stub --enable simd --enable relaxed-simd --importMemory --noExportMemory
// What kernel.as.ts does, with the same results to the last bit, for arm64: its processors multiply sixteen pairs of bytes and add them up
// in one instruction (sdot), twice in a cycle, but pairs of 16 bits only a quarter as fast as x64. A code of 14 bits is split in two halves
// of 7, because the relaxed instruction is exact, on every machine, only while one side has at most 7 bits and no sign.
import { isums, largest, madd, rounded, total } from './kernel-common.as';
export { addnorm, attn, gelu } from './kernel-common.as';

/**
 * Rounds each row of x[T,K] to 14 bits, as in kernel.as.ts. Codes are stored plus 8192, so that none is negative, as halves of 7 bits:
 * [T][K/8][2][8], the high ones first. K is a multiple of 8.
 */
export function quantize(x: usize, codes: usize, steps: usize, T: i32, K: i32): void {
  const rowB: usize = <usize>K << 2, ones = i16x8.splat(1);
  for (let t = 0; t < T; t++) {
    const end = x + rowB;
    let m = f32x4.splat(0), s = i32x4.splat(0);
    for (let a = x; a < end; a += 16) m = f32x4.max(m, f32x4.abs(v128.load(a)));
    const most = largest(m), step: f32 = most > 0 ? most / 8191.0 : 1.0, inv = f32x4.splat(<f32>1.0 / step);
    for (; x < end; x += 32) {
      const c = i16x8.narrow_i32x4_s(rounded(f32x4.mul(v128.load(x), inv)), rounded(f32x4.mul(v128.load(x, 16), inv)));
      s = i32x4.add(s, i32x4.dot_i16x8_s(c, ones));
      const u = i16x8.add(c, i16x8.splat(8192));
      v128.store(codes, i8x16.narrow_i16x8_u(i16x8.shr_u(u, 7), v128.and(u, i16x8.splat(127))));
      codes += 16;
    }
    store<f32>(steps, step); store<f32>(steps, step * total(s), 4);
    steps += 8;
  }
}

@inline function dot(a: v128, x: v128, w: v128): v128 { return i32x4.relaxed_dot_i8x16_i7x16_add_s(w, x, a); }
@inline function put(o: usize, high: v128, low: v128, column: usize, outB: usize, step: v128, sum: v128): void {
  const a = f32x4.convert_i32x4_s(i32x4.add(i32x4.shl(high, 7), low));
  v128.store(o, madd(a, f32x4.mul(v128.load(column), step), madd(v128.load(column + outB), sum, v128.load(column + 2 * outB))));
}

/**
 * out[T,N] = x[T,K] . W + bias, as in kernel.as.ts. The codes of W are signed bytes, packed [N/32][K/4][32][4]; `columns` holds scale, shift
 * and bias, N floats each, and -8192 times the sum of the codes of each column, which takes away what was added to those of x. N is a
 * multiple of 32, K of 8. Sums of halves may wrap around, their total does not. One row by thirty-two columns, because arm64 has
 * thirty-two registers.
 */
export function gemm(codes: usize, steps: usize, w: usize, columns: usize, out: usize, T: i32, K: i32, N: i32): void {
  const rowB: usize = <usize>K << 1, panelB: usize = <usize>K << 5, outB: usize = <usize>N << 2, z = i32x4.splat(0);
  for (let p = 0; p < N; p += 32) {
    const c = columns + (<usize>p << 2), d = c + 3 * outB;
    let x = codes, r = steps, o = out + (<usize>p << 2);
    for (let t = 0; t < T; t++) {
      let h0 = z, h1 = z, h2 = z, h3 = z, h4 = z, h5 = z, h6 = z, h7 = z, q = w;
      let l0 = v128.load(d), l1 = v128.load(d, 16), l2 = v128.load(d, 32), l3 = v128.load(d, 48), l4 = v128.load(d, 64), l5 = v128.load(d, 80), l6 = v128.load(d, 96), l7 = v128.load(d, 112);
      const end = x + rowB;
      while (x < end) {
        const v = v128.load(x);
        let h = v128.shuffle<i32>(v, v, 0, 0, 0, 0), l = v128.shuffle<i32>(v, v, 2, 2, 2, 2), k = v128.load(q);
        h0 = dot(h0, h, k); l0 = dot(l0, l, k); k = v128.load(q, 16); h1 = dot(h1, h, k); l1 = dot(l1, l, k);
        k = v128.load(q, 32); h2 = dot(h2, h, k); l2 = dot(l2, l, k); k = v128.load(q, 48); h3 = dot(h3, h, k); l3 = dot(l3, l, k);
        k = v128.load(q, 64); h4 = dot(h4, h, k); l4 = dot(l4, l, k); k = v128.load(q, 80); h5 = dot(h5, h, k); l5 = dot(l5, l, k);
        k = v128.load(q, 96); h6 = dot(h6, h, k); l6 = dot(l6, l, k); k = v128.load(q, 112); h7 = dot(h7, h, k); l7 = dot(l7, l, k);
        h = v128.shuffle<i32>(v, v, 1, 1, 1, 1); l = v128.shuffle<i32>(v, v, 3, 3, 3, 3); k = v128.load(q, 128);
        h0 = dot(h0, h, k); l0 = dot(l0, l, k); k = v128.load(q, 144); h1 = dot(h1, h, k); l1 = dot(l1, l, k);
        k = v128.load(q, 160); h2 = dot(h2, h, k); l2 = dot(l2, l, k); k = v128.load(q, 176); h3 = dot(h3, h, k); l3 = dot(l3, l, k);
        k = v128.load(q, 192); h4 = dot(h4, h, k); l4 = dot(l4, l, k); k = v128.load(q, 208); h5 = dot(h5, h, k); l5 = dot(l5, l, k);
        k = v128.load(q, 224); h6 = dot(h6, h, k); l6 = dot(l6, l, k); k = v128.load(q, 240); h7 = dot(h7, h, k); l7 = dot(l7, l, k);
        x += 16; q += 256;
      }
      const step = v128.load_splat<f32>(r), sum = v128.load_splat<f32>(r, 4);
      put(o, h0, l0, c, outB, step, sum); put(o + 16, h1, l1, c + 16, outB, step, sum); put(o + 32, h2, l2, c + 32, outB, step, sum); put(o + 48, h3, l3, c + 48, outB, step, sum);
      put(o + 64, h4, l4, c + 64, outB, step, sum); put(o + 80, h5, l5, c + 80, outB, step, sum); put(o + 96, h6, l6, c + 96, outB, step, sum); put(o + 112, h7, l7, c + 112, outB, step, sum);
      o += outB; r += 8;
    }
    w += panelB;
  }
}

/** What was added to each number of `asked` is taken away as often as `sum` says. */
@inline function whole(high: v128, low: v128, sum: v128): v128 { return i32x4.sub(i32x4.add(i32x4.shl(high, 7), low), i32x4.shl(sum, 13)); }

/**
 * scores[n] = scales[n] * (codes[n,K] . asked[K]), as in kernel.as.ts. K is a multiple of 16. Splits `asked` in place, sixteen numbers at a
 * time: the high halves first.
 */
export function compare(codes: usize, scales: usize, asked: usize, scores: usize, n: i32, K: i32): void {
  const end = scales + (<usize>n << 2), stride: usize = K, all = asked + (<usize>K << 1), z = i32x4.splat(0), zero = i16x8.splat(8192), mask = i16x8.splat(127), one = i8x16.splat(1);
  for (let q = asked; q < all; q += 32) {
    const a = i16x8.add(v128.load(q), zero), b = i16x8.add(v128.load(q, 16), zero);
    v128.store(q, i8x16.narrow_i16x8_u(i16x8.shr_u(a, 7), i16x8.shr_u(b, 7)));
    v128.store(q, i8x16.narrow_i16x8_u(v128.and(a, mask), v128.and(b, mask)), 16);
  }
  while (scales < end) {
    let h0 = z, h1 = z, h2 = z, h3 = z, l0 = z, l1 = z, l2 = z, l3 = z, s0 = z, s1 = z, s2 = z, s3 = z, c = codes;
    for (let q = asked; q < all; q += 32) {
      const h = v128.load(q), l = v128.load(q, 16), c0 = v128.load(c), c1 = v128.load(c + stride), c2 = v128.load(c + 2 * stride), c3 = v128.load(c + 3 * stride);
      h0 = dot(h0, h, c0); l0 = dot(l0, l, c0); s0 = dot(s0, one, c0); h1 = dot(h1, h, c1); l1 = dot(l1, l, c1); s1 = dot(s1, one, c1);
      h2 = dot(h2, h, c2); l2 = dot(l2, l, c2); s2 = dot(s2, one, c2); h3 = dot(h3, h, c3); l3 = dot(l3, l, c3); s3 = dot(s3, one, c3);
      c += 16;
    }
    const a = isums(whole(h0, l0, s0), whole(h1, l1, s1), whole(h2, l2, s2), whole(h3, l3, s3));
    v128.store(scores, f32x4.mul(f32x4.convert_i32x4_s(a), v128.load(scales)));
    codes += 4 * stride; scales += 16; scores += 16;
  }
}
