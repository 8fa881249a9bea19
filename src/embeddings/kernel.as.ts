// AssemblyScript. kernel.wasm beside it was made from this file and kernel-common.as.ts (sha256 1b1c0584…), and comes out the same every time, with
//   npx assemblyscript@0.28.20 asc kernel.as.ts -o kernel.wasm -O3 --noAssert --runtime stub --enable simd --importMemory --noExportMemory
// Matrix products use whole numbers: pairs of 16 bits are multiplied and added in one instruction, which on x64 takes half the time of f32
// and is exact, so results do not depend on the machine. Plain SIMD only: fused multiply-add was slower here, and would make results differ.
import { isums, largest, madd, rounded, total } from './kernel-common.as';
export { addnorm, attn, gelu } from './kernel-common.as';

/**
 * Rounds each row of x[T,K] to 14 bits: codes = x / step, where the largest of the row becomes 8191. K is a multiple of 8. Codes are
 * stored two rows at a time as pairs, [T/2][K/2][2][2], and so if T is odd, one row more is read and written, here and in gemm, whatever
 * it holds; `steps` receives, for each row, its step and the sum of its codes times the step.
 */
export function quantize(x: usize, codes: usize, steps: usize, T: i32, K: i32): void {
  const rowB: usize = <usize>K << 2, ones = i16x8.splat(1);
  for (let t = 0; t < T; t += 2) {
    const end = x + rowB;
    let m0 = f32x4.splat(0), m1 = m0;
    for (let a = x; a < end; a += 16) { m0 = f32x4.max(m0, f32x4.abs(v128.load(a))); m1 = f32x4.max(m1, f32x4.abs(v128.load(a + rowB))); }
    const most0 = largest(m0), most1 = largest(m1);
    const step0: f32 = most0 > 0 ? most0 / 8191.0 : 1.0, step1: f32 = most1 > 0 ? most1 / 8191.0 : 1.0;
    const inv0 = f32x4.splat(<f32>1.0 / step0), inv1 = f32x4.splat(<f32>1.0 / step1);
    let s0 = i32x4.splat(0), s1 = s0;
    for (let a = x; a < end; a += 32) {
      const b = a + rowB;
      const c0 = i16x8.narrow_i32x4_s(rounded(f32x4.mul(v128.load(a), inv0)), rounded(f32x4.mul(v128.load(a, 16), inv0)));
      const c1 = i16x8.narrow_i32x4_s(rounded(f32x4.mul(v128.load(b), inv1)), rounded(f32x4.mul(v128.load(b, 16), inv1)));
      s0 = i32x4.add(s0, i32x4.dot_i16x8_s(c0, ones)); s1 = i32x4.add(s1, i32x4.dot_i16x8_s(c1, ones));
      v128.store(codes, v128.shuffle<i32>(c0, c1, 0, 4, 1, 5)); v128.store(codes, v128.shuffle<i32>(c0, c1, 2, 6, 3, 7), 16);
      codes += 32;
    }
    store<f32>(steps, step0); store<f32>(steps, step0 * total(s0), 4); store<f32>(steps, step1, 8); store<f32>(steps, step1 * total(s1), 12);
    steps += 16; x = end + rowB;
  }
}

@inline function mac(a: v128, x: v128, w: v128): v128 { return i32x4.add(a, i32x4.dot_i16x8_s(x, w)); }
@inline function put(o: usize, a: v128, column: usize, outB: usize, step: v128, sum: v128): void {
  v128.store(o, madd(f32x4.convert_i32x4_s(a), f32x4.mul(v128.load(column), step), madd(v128.load(column + outB), sum, v128.load(column + 2 * outB))));
}

/**
 * out[T,N] = x[T,K] . W + bias, for the codes of x and W = scale * code + shift. The codes of W have 8 bits and are packed as 16,
 * [N/16][K/2][16][2]; `columns` holds scale, shift and bias, N floats each. N is a multiple of 16, K of 4. No sum overflows:
 * 1536 * 128 * 8191 < 2^31. Two rows by sixteen columns, because x64 has sixteen registers.
 */
export function gemm(codes: usize, steps: usize, w: usize, columns: usize, out: usize, T: i32, K: i32, N: i32): void {
  const blockB: usize = <usize>K << 2, panelB: usize = <usize>K << 5, outB: usize = <usize>N << 2;
  for (let p = 0; p < N; p += 16) {
    const wp = w + <usize>(p >> 4) * panelB, c = columns + (<usize>p << 2);
    let x = codes, r = steps, o = out + (<usize>p << 2);
    for (let t = 0; t < T; t += 2) {
      let a00 = i32x4.splat(0), a01 = a00, a02 = a00, a03 = a00, a10 = a00, a11 = a00, a12 = a00, a13 = a00, q = wp;
      const end = x + blockB;
      while (x < end) {
        let w0 = v128.load(q), w1 = v128.load(q, 16), w2 = v128.load(q, 32), w3 = v128.load(q, 48), v = v128.load_splat<u32>(x);
        a00 = mac(a00, v, w0); a01 = mac(a01, v, w1); a02 = mac(a02, v, w2); a03 = mac(a03, v, w3);
        v = v128.load_splat<u32>(x, 4);
        a10 = mac(a10, v, w0); a11 = mac(a11, v, w1); a12 = mac(a12, v, w2); a13 = mac(a13, v, w3);
        w0 = v128.load(q, 64); w1 = v128.load(q, 80); w2 = v128.load(q, 96); w3 = v128.load(q, 112); v = v128.load_splat<u32>(x, 8);
        a00 = mac(a00, v, w0); a01 = mac(a01, v, w1); a02 = mac(a02, v, w2); a03 = mac(a03, v, w3);
        v = v128.load_splat<u32>(x, 12);
        a10 = mac(a10, v, w0); a11 = mac(a11, v, w1); a12 = mac(a12, v, w2); a13 = mac(a13, v, w3);
        x += 16; q += 128;
      }
      let step = v128.load_splat<f32>(r), sum = v128.load_splat<f32>(r, 4);
      put(o, a00, c, outB, step, sum); put(o + 16, a01, c + 16, outB, step, sum); put(o + 32, a02, c + 32, outB, step, sum); put(o + 48, a03, c + 48, outB, step, sum);
      o += outB; step = v128.load_splat<f32>(r, 8); sum = v128.load_splat<f32>(r, 12);
      put(o, a10, c, outB, step, sum); put(o + 16, a11, c + 16, outB, step, sum); put(o + 32, a12, c + 32, outB, step, sum); put(o + 48, a13, c + 48, outB, step, sum);
      o += outB; r += 16;
    }
  }
}

/**
 * scores[n] = scales[n] * (codes[n,K] . asked[K]): how similar each of n vectors is to one. codes: signed bytes; asked: 16 bits.
 * n is a multiple of 4 and K of 8; the host chooses the range of `asked` so that no sum overflows.
 */
export function compare(codes: usize, scales: usize, asked: usize, scores: usize, n: i32, K: i32): void {
  const end = scales + (<usize>n << 2), stride: usize = K, all = asked + (<usize>K << 1);
  while (scales < end) {
    let a0 = i32x4.splat(0), a1 = a0, a2 = a0, a3 = a0, c = codes;
    for (let q = asked; q < all; q += 16) {
      const v = v128.load(q);
      a0 = mac(a0, v, v128.load_ext<i8>(c)); a1 = mac(a1, v, v128.load_ext<i8>(c + stride));
      a2 = mac(a2, v, v128.load_ext<i8>(c + 2 * stride)); a3 = mac(a3, v, v128.load_ext<i8>(c + 3 * stride));
      c += 8;
    }
    v128.store(scores, f32x4.mul(f32x4.convert_i32x4_s(isums(a0, a1, a2, a3)), v128.load(scales)));
    codes += 4 * stride; scales += 16; scores += 16;
  }
}
