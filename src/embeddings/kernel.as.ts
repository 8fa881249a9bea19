// AssemblyScript. kernel.wasm beside it was made from this file (sha256 77fc6c97…), and comes out the same every time, with
//   npx assemblyscript@0.28.20 asc kernel.as.ts -o kernel.wasm -O3 --noAssert --runtime stub --enable simd --importMemory --noExportMemory
// All buffers lie in linear memory at addresses that the host chooses; f32, row-major unless said otherwise. Plain SIMD only: fused
// multiply-add was slower here, and would make results differ between machines.

@inline function madd(a: v128, b: v128, c: v128): v128 { return f32x4.add(c, f32x4.mul(a, b)); }

/** out[T,N] = x[T,K] . W + bias; W packed as [N/12][K][12]; T multiple of 4, N of 12; xs: scratch of T*K floats */
export function gemm(x: usize, w: usize, bias: usize, out: usize, xs: usize, T: i32, K: i32, N: i32): void {
  const rowB: usize = <usize>K << 2, outB: usize = <usize>N << 2, panelB: usize = rowB * 12;
  for (let t = 0; t < T; t += 4) { // xs = x in blocks of four rows, [T/4][K][4]
    let a = x + <usize>t * rowB, o = xs + <usize>t * rowB;
    const end = a + rowB;
    while (a < end) {
      store<f32>(o, load<f32>(a)); store<f32>(o, load<f32>(a + rowB), 4); store<f32>(o, load<f32>(a + 2 * rowB), 8); store<f32>(o, load<f32>(a + 3 * rowB), 12);
      a += 4; o += 16;
    }
  }
  for (let p = 0; p < N / 12; p++) {
    const wp = w + <usize>p * panelB, bp = bias + <usize>p * 48;
    const b0 = v128.load(bp), b1 = v128.load(bp, 16), b2 = v128.load(bp, 32);
    for (let t = 0; t < T; t += 4) {
      let xp = xs + <usize>t * rowB, q = wp;
      let a00 = b0, a01 = b1, a02 = b2, a10 = b0, a11 = b1, a12 = b2;
      let a20 = b0, a21 = b1, a22 = b2, a30 = b0, a31 = b1, a32 = b2;
      const end = xp + (rowB << 2);
      while (xp < end) {
        const w0 = v128.load(q), w1 = v128.load(q, 16), w2 = v128.load(q, 32), v = v128.load(xp);
        let s = v128.shuffle<f32>(v, v, 0, 0, 0, 0);
        a00 = madd(s, w0, a00); a01 = madd(s, w1, a01); a02 = madd(s, w2, a02);
        s = v128.shuffle<f32>(v, v, 1, 1, 1, 1);
        a10 = madd(s, w0, a10); a11 = madd(s, w1, a11); a12 = madd(s, w2, a12);
        s = v128.shuffle<f32>(v, v, 2, 2, 2, 2);
        a20 = madd(s, w0, a20); a21 = madd(s, w1, a21); a22 = madd(s, w2, a22);
        s = v128.shuffle<f32>(v, v, 3, 3, 3, 3);
        a30 = madd(s, w0, a30); a31 = madd(s, w1, a31); a32 = madd(s, w2, a32);
        xp += 16; q += 48;
      }
      let o = out + <usize>t * outB + <usize>p * 48;
      v128.store(o, a00); v128.store(o, a01, 16); v128.store(o, a02, 32); o += outB;
      v128.store(o, a10); v128.store(o, a11, 16); v128.store(o, a12, 32); o += outB;
      v128.store(o, a20); v128.store(o, a21, 16); v128.store(o, a22, 32); o += outB;
      v128.store(o, a30); v128.store(o, a31, 16); v128.store(o, a32, 32);
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
  const e = i32x4.shl(i32x4.add(i32x4.trunc_sat_f32x4_s(n), i32x4.splat(127)), 23);
  return f32x4.mul(y, e);
}

/** in place exact-form GELU, 0.5x(1+erf(x/sqrt2)), erf by Abramowitz-Stegun 7.1.26; n multiple of 4 */
export function gelu(p: usize, n: i32): void {
  const end = p + (<usize>n << 2), one = f32x4.splat(1.0);
  while (p < end) {
    const x = v128.load(p), v = f32x4.mul(x, f32x4.splat(0.70710678118654752)), a = f32x4.abs(v);
    const t = f32x4.div(one, madd(a, f32x4.splat(0.3275911), one));
    let y = f32x4.splat(1.061405429);
    y = madd(y, t, f32x4.splat(-1.453152027)); y = madd(y, t, f32x4.splat(1.421413741));
    y = madd(y, t, f32x4.splat(-0.284496736)); y = madd(y, t, f32x4.splat(0.254829592));
    const er = f32x4.sub(one, f32x4.mul(f32x4.mul(y, t), vexp(f32x4.neg(f32x4.mul(a, a)))));
    const sg = v128.or(er, v128.and(v, i32x4.splat(0x80000000)));
    v128.store(p, f32x4.mul(f32x4.mul(x, f32x4.splat(0.5)), f32x4.add(one, sg)));
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
