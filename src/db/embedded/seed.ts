// Built by cli/dev/seed.ts, which therefore must never import this file.
import seed from '../../../.cache/seed.tar.zst' with { type: 'file' }

/** Unpacks the initialised database shipped in the binary; initdb in WASM would take 4 s and 1 GB. */
export async function unpackSeed(target: string): Promise<void> {
  const tar = await Bun.zstdDecompress(await Bun.file(seed).bytes())
  await new Bun.Archive(tar).extract(target)
}
