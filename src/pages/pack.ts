import packPath from '../../.cache/web.pack' with { type: 'file' }

/** Where a form of a file lies: from its first byte to behind its last. */
type Span = [from: number, to: number]

/** A file of the dashboard in the pack that `cli/dev/web.ts` writes. */
export interface PackedFile {
  path: string
  type: string
  etag: string
  raw: Span
  /** Compressed forms, of texts only. */
  gzip?: Span
  br?: Span
}

export interface Pack {
  readonly files: ReadonlyMap<string, PackedFile>
  bytes(span: Span): Promise<Uint8Array<ArrayBuffer>>
}

/** Reads only the index; the contents stay in the binary until they are asked for. */
export async function openPack(): Promise<Pack> {
  const file = Bun.file(packPath)
  const [length = 0] = new Uint32Array(await file.slice(0, 4).arrayBuffer())
  const start = 4 + length
  const index = JSON.parse(await file.slice(4, start).text()) as PackedFile[]
  return {
    files: new Map(index.map((entry) => [entry.path, entry])),
    bytes: ([from, to]) => file.slice(start + from, start + to).bytes(),
  }
}
