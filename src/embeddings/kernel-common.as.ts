// AssemblyScript: what kernel.as.ts and kernel-bytes.as.ts share. All buffers lie in linear memory at addresses that the host chooses; f32,
// row-major by default. No fused multiply-add, which would make results differ between machines.

@inline export function madd(a: v128, b: v128, c: v128): v128 { return f32x4.add(c, f32x4.mul(a, b)); }

/** Whole numbers of up to 22 bits: adding 1.5 * 2^23 leaves the rounded number in the low bits, which is one step instead of eight. */
@inline export function rounded(x: v128): v128 { return i32x4.sub(f32x4.add(x, f32x4.splat(12582912.0)), i32x4.splat(0x4b400000)); }

@inline export function largest(a: v128): f32 {
  return max<f32>(max<f32>(f32x4.extract_lane(a, 0), f32x4.extract_lane(a, 1)), max<f32>(f32x4.extract_lane(a, 2), f32x4.extract_lane(a, 3)));
}
@inline export function total(a: v128): f32 {
  return <f32>(i32x4.extract_lane(a, 0) + i32x4.extract_lane(a, 1) + i32x4.extract_lane(a, 2) + i32x4.extract_lane(a, 3));
}

/** [sum of a, of b, of c, of d], whole numbers */
@inline export function isums(a: v128, b: v128, c: v128, d: v128): v128 {
  const low = i32x4.add(v128.shuffle<i32>(a, b, 0, 4, 1, 5), v128.shuffle<i32>(a, b, 2, 6, 3, 7));
  const high = i32x4.add(v128.shuffle<i32>(c, d, 0, 4, 1, 5), v128.shuffle<i32>(c, d, 2, 6, 3, 7));
  return i32x4.add(v128.shuffle<i32>(low, high, 0, 1, 4, 5), v128.shuffle<i32>(low, high, 2, 3, 6, 7));
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

/**
 * multi-head self attention: qkv[T, 3*384] (q|k|v) -> out[T,384]; 12 heads of 32; `kv` = scratch of 65 floats for each of T rows, rounded
 * up to 4. The keys and values of one head are copied there first: rows of qkv lie so far apart that they push each other out of the cache.
 */
export function attn(qkv: usize, out: usize, kv: usize, T: i32): void {
  const rowB: usize = 1152 * 4, T4 = (T + 3) & ~3, sc = kv + (<usize>T4 << 8);
  const scale: f32 = 0.17677669529663687;
  for (let h = 0; h < 12; h++) {
    const hq = qkv + <usize>h * 128;
    for (let j = 0; j < T; j++) {
      const from = hq + <usize>j * rowB, to = kv + (<usize>j << 8);
      for (let b: usize = 0; b < 128; b += 16) { v128.store(to + b, v128.load(from + b, 1536)); v128.store(to + b, v128.load(from + b, 3072), 128); }
    }
    for (let i = 0; i < T; i++) {
      const q = hq + <usize>i * rowB;
      const q0 = v128.load(q), q1 = v128.load(q, 16), q2 = v128.load(q, 32), q3 = v128.load(q, 48), q4 = v128.load(q, 64), q5 = v128.load(q, 80), q6 = v128.load(q, 96), q7 = v128.load(q, 112);
      let mx: f32 = -1e30;
      for (let j = 0; j < T; j++) {
        const k = kv + (<usize>j << 8);
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
        const p = v128.load_splat<f32>(sc + (<usize>j << 2)), v = kv + (<usize>j << 8);
        o0 = madd(p, v128.load(v, 128), o0); o1 = madd(p, v128.load(v, 144), o1); o2 = madd(p, v128.load(v, 160), o2); o3 = madd(p, v128.load(v, 176), o3);
        o4 = madd(p, v128.load(v, 192), o4); o5 = madd(p, v128.load(v, 208), o5); o6 = madd(p, v128.load(v, 224), o6); o7 = madd(p, v128.load(v, 240), o7);
      }
      const o = out + <usize>i * 1536 + <usize>h * 128;
      v128.store(o, f32x4.mul(o0, r)); v128.store(o, f32x4.mul(o1, r), 16); v128.store(o, f32x4.mul(o2, r), 32); v128.store(o, f32x4.mul(o3, r), 48);
      v128.store(o, f32x4.mul(o4, r), 64); v128.store(o, f32x4.mul(o5, r), 80); v128.store(o, f32x4.mul(o6, r), 96); v128.store(o, f32x4.mul(o7, r), 112);
    }
  }
}
