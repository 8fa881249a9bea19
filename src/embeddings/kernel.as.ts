// AssemblyScript. kernel.wasm beside it was made from this file (sha256 487ab22b…), and comes out the same every time, with
//   npx assemblyscript@0.28.20 asc kernel.as.ts -o kernel.wasm -O3 --noAssert --runtime stub --enable simd --importMemory --noExportMemory
// All buffers lie in linear memory at addresses that the host chooses; f32, row-major unless said otherwise. Matrix products use
// whole numbers: pairs of 16 bits are multiplied and added in one instruction, which takes half the time of f32 and is exact, so
// results do not depend on the machine. Plain SIMD only: fused multiply-add was slower here, and would make results differ.

@inline function madd(a: v128, b: v128, c: v128): v128 { return f32x4.add(c, f32x4.mul(a, b)); }

/** Whole numbers of up to 22 bits: adding 1.5 * 2^23 leaves the rounded number in the low bits, which is one step instead of eight. */
@inline function rounded(x: v128): v128 { return i32x4.sub(f32x4.add(x, f32x4.splat(12582912.0)), i32x4.splat(0x4b400000)); }

@inline function largest(a: v128): f32 {
  return max<f32>(max<f32>(f32x4.extract_lane(a, 0), f32x4.extract_lane(a, 1)), max<f32>(f32x4.extract_lane(a, 2), f32x4.extract_lane(a, 3)));
}
@inline function total(a: v128): f32 {
  return <f32>(i32x4.extract_lane(a, 0) + i32x4.extract_lane(a, 1) + i32x4.extract_lane(a, 2) + i32x4.extract_lane(a, 3));
}

/**
 * Rounds each row of x[T,K] to 14 bits: codes = x / step, where the largest of the row becomes 8191. T is a multiple of 2, K of 8.
 * Codes are stored two rows at a time as pairs, [T/2][K/2][2][2]; `steps` receives, for each row, its step and the sum of its codes
 * times the step.
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
 * [N/16][K/2][16][2]; `columns` holds scale, shift and bias, N floats each. T is a multiple of 2, N of 16, K of 4. No sum overflows:
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

/** e^x for x <= 0 (Cephes expf polynomial), clamped at -87 */
@inline function vexp(x: v128): v128 {
  x = f32x4.max(x, f32x4.splat(-87.0));
  const n = f32x4.floor(f32x4.add(f32x4.mul(x, f32x4.splat(1.44269504088896341)), f32x4.splat(0.5)));
  x = f32x4.sub(f32x4.sub(x, f32x4.mul(n, f32x4.splat(0.693359375))), f32x4.mul(n, f32x4.splat(-2.12194440e-4)));
  const z = f32x4.mul(x, x);
  let y = f32x4.splat(1.9875691500e-4);
  y = madd(y, x, f32x4.splat(1.3981999507e-3));
  y = madd(y, x, f32x4.splat(8.3334519073e-3));
  y = madd(y, x, f32x4.splat(4.1665795894e-2));
  y = madd(y, x, f32x4.splat(1.6666665459e-1));
  y = madd(y, x, f32x4.splat(5.0000001201e-1));
  y = f32x4.add(f32x4.add(f32x4.mul(y, z), x), f32x4.splat(1.0));
  const e = i32x4.shl(i32x4.add(rounded(n), i32x4.splat(127)), 23);
  return f32x4.mul(y, e);
}

/** In place: 0.5x(1+erf(x/sqrt2)), where erf is a polynomial of x^2 up to |x| = 4.24 and 1 beyond; differs by at most 4e-5. n: multiple of 4 */
export function gelu(p: usize, n: i32): void {
  const end = p + (<usize>n << 2), most = f32x4.splat(4.2426405);
  while (p < end) {
    const x = v128.load(p), c = f32x4.max(f32x4.min(x, most), f32x4.neg(most)), h = f32x4.mul(x, f32x4.splat(0.5));
    const u = f32x4.sub(f32x4.mul(f32x4.mul(c, c), f32x4.splat(0.111111111)), f32x4.splat(1.0));
    let y = f32x4.splat(0.00465204472);
    y = madd(y, u, f32x4.splat(-0.0125380243));
    y = madd(y, u, f32x4.splat(0.0173613526));
    y = madd(y, u, f32x4.splat(-0.0282368105));
    y = madd(y, u, f32x4.splat(0.0508339577));
    y = madd(y, u, f32x4.splat(-0.0785304477));
    y = madd(y, u, f32x4.splat(0.111469151));
    y = madd(y, u, f32x4.splat(-0.161741442));
    y = madd(y, u, f32x4.splat(0.332430445));
    v128.store(p, madd(h, f32x4.mul(c, y), h));
    p += 16;
  }
}

@inline function hsum(a: v128): f32 {
  return (f32x4.extract_lane(a, 0) + f32x4.extract_lane(a, 1)) + (f32x4.extract_lane(a, 2) + f32x4.extract_lane(a, 3));
}

/** x[T,D] = LayerNorm(x + res) * g + b ; res may equal 0 for none */
export function addnorm(x: usize, res: usize, g: usize, b: usize, T: i32, D: i32): void {
  const rowB: usize = <usize>D << 2, inv: f32 = 1.0 / <f32>D;
  for (let t = 0; t < T; t++) {
    const r = x + <usize>t * rowB;
    let s = f32x4.splat(0);
    if (res) { const q = res + <usize>t * rowB; for (let i: usize = 0; i < rowB; i += 16) { const v = f32x4.add(v128.load(r + i), v128.load(q + i)); v128.store(r + i, v); s = f32x4.add(s, v); } }
    else for (let i: usize = 0; i < rowB; i += 16) s = f32x4.add(s, v128.load(r + i));
    const mu = f32x4.splat(hsum(s) * inv);
    let v2 = f32x4.splat(0);
    for (let i: usize = 0; i < rowB; i += 16) { const d = f32x4.sub(v128.load(r + i), mu); v2 = madd(d, d, v2); }
    const rs = f32x4.splat(<f32>1.0 / sqrt<f32>(hsum(v2) * inv + <f32>1e-12));
    for (let i: usize = 0; i < rowB; i += 16) {
      const d = f32x4.mul(f32x4.sub(v128.load(r + i), mu), rs);
      v128.store(r + i, madd(d, v128.load(g + i), v128.load(b + i)));
    }
  }
}

/** multi-head self attention: qkv[T, 3*384] (q|k|v) -> out[T,384]; 12 heads of 32; sc = scratch of T rounded up to 4 floats */
export function attn(qkv: usize, out: usize, sc: usize, T: i32): void {
  const rowB: usize = 1152 * 4, T4 = (T + 3) & ~3;
  const scale: f32 = 0.17677669529663687;
  for (let h = 0; h < 12; h++) {
    const hq = qkv + <usize>h * 128, hk = hq + 1536, hv = hq + 3072;
    for (let i = 0; i < T; i++) {
      const q = hq + <usize>i * rowB;
      const q0 = v128.load(q), q1 = v128.load(q, 16), q2 = v128.load(q, 32), q3 = v128.load(q, 48), q4 = v128.load(q, 64), q5 = v128.load(q, 80), q6 = v128.load(q, 96), q7 = v128.load(q, 112);
      let mx: f32 = -1e30;
      for (let j = 0; j < T; j++) {
        const k = hk + <usize>j * rowB;
        let a = f32x4.mul(q0, v128.load(k)), b = f32x4.mul(q1, v128.load(k, 16));
        a = madd(q2, v128.load(k, 32), a); b = madd(q3, v128.load(k, 48), b);
        a = madd(q4, v128.load(k, 64), a); b = madd(q5, v128.load(k, 80), b);
        a = madd(q6, v128.load(k, 96), a); b = madd(q7, v128.load(k, 112), b);
        const s = hsum(f32x4.add(a, b)) * scale;
        store<f32>(sc + (<usize>j << 2), s);
        mx = max<f32>(mx, s);
      }
      for (let j = T; j < T4; j++) store<f32>(sc + (<usize>j << 2), -1e30);
      const vm = f32x4.splat(mx);
      let sum = f32x4.splat(0);
      for (let j = 0; j < T4; j += 4) { const e = vexp(f32x4.sub(v128.load(sc + (<usize>j << 2)), vm)); v128.store(sc + (<usize>j << 2), e); sum = f32x4.add(sum, e); }
      let tot: f32 = hsum(sum);
      for (let j = T; j < T4; j++) tot -= load<f32>(sc + (<usize>j << 2));
      const r = f32x4.splat(<f32>1.0 / tot);
      let o0 = f32x4.splat(0), o1 = o0, o2 = o0, o3 = o0, o4 = o0, o5 = o0, o6 = o0, o7 = o0;
      for (let j = 0; j < T; j++) {
        const p = v128.load_splat<f32>(sc + (<usize>j << 2)), v = hv + <usize>j * rowB;
        o0 = madd(p, v128.load(v), o0); o1 = madd(p, v128.load(v, 16), o1); o2 = madd(p, v128.load(v, 32), o2); o3 = madd(p, v128.load(v, 48), o3);
        o4 = madd(p, v128.load(v, 64), o4); o5 = madd(p, v128.load(v, 80), o5); o6 = madd(p, v128.load(v, 96), o6); o7 = madd(p, v128.load(v, 112), o7);
      }
      const o = out + <usize>i * 1536 + <usize>h * 128;
      v128.store(o, f32x4.mul(o0, r)); v128.store(o, f32x4.mul(o1, r), 16); v128.store(o, f32x4.mul(o2, r), 32); v128.store(o, f32x4.mul(o3, r), 48);
      v128.store(o, f32x4.mul(o4, r), 64); v128.store(o, f32x4.mul(o5, r), 80); v128.store(o, f32x4.mul(o6, r), 96); v128.store(o, f32x4.mul(o7, r), 112);
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
    const low = i32x4.add(v128.shuffle<i32>(a0, a1, 0, 4, 1, 5), v128.shuffle<i32>(a0, a1, 2, 6, 3, 7));
    const high = i32x4.add(v128.shuffle<i32>(a2, a3, 0, 4, 1, 5), v128.shuffle<i32>(a2, a3, 2, 6, 3, 7));
    const sums = i32x4.add(v128.shuffle<i32>(low, high, 0, 1, 4, 5), v128.shuffle<i32>(low, high, 2, 3, 6, 7));
    v128.store(scores, f32x4.mul(f32x4.convert_i32x4_s(sums), v128.load(scales)));
    codes += 4 * stride; scales += 16; scores += 16;
  }
}
