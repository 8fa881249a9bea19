import { createReadStream, createWriteStream, existsSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createZstdCompress, createZstdDecompress } from 'node:zlib'
import { syncDirectory } from '../db/embedded/tree.ts'
import { AppError } from '../errors.ts'

/**
 * A backup is one zstd stream of JSON lines: a header, then for each table its columns, its rows and a line that sums it up, then a last
 * line that sums up all lines before it. Values are Postgres' own text, so that a backup of one database can be loaded into the other.
 */
export type Line = Header | TableStart | Row | TableEnd | End
export interface Header {
  tutti: string
  format: 1
  at: string
  database: string
  migrations: string[]
  /** The master secret, where the installation keeps it in its data folder. */
  secret?: string
}
export interface TableStart {
  table: string
  /** Name and type. */
  columns: [string, string][]
}
export type Row = (string | null)[]
export interface TableEnd {
  end: string
  rows: number
  sum: string
}
interface End {
  done: true
  sha256: string
}

export const isRow = (line: Line): line is Row => Array.isArray(line)

/** The file appears complete and on disk, or not at all; only its owner can read it. */
export async function writeBackup(path: string, lines: AsyncIterable<Exclude<Line, End>>): Promise<void> {
  const draft = `${path}.part`
  await rm(draft, { force: true })
  try {
    const to = createWriteStream(draft, { mode: 0o600, flags: 'wx', flush: true })
    await pipeline(Readable.from(encoded(lines)), createZstdCompress(), to)
    // A name that was taken meanwhile is not overwritten: `open` with x keeps it.
    await (await open(path, 'wx', 0o600)).close()
    await rename(draft, path)
    await syncDirectory(dirname(path))
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

const PIECE = 256 << 10

async function* encoded(lines: AsyncIterable<Exclude<Line, End>>): AsyncGenerator<Buffer> {
  const hash = new Bun.CryptoHasher('sha256')
  let piece = ''
  for await (const line of lines) {
    piece += `${JSON.stringify(line)}\n`
    if (piece.length < PIECE) continue
    hash.update(piece)
    yield Buffer.from(piece)
    piece = ''
  }
  hash.update(piece)
  yield Buffer.from(`${piece}${JSON.stringify({ done: true, sha256: hash.digest('hex') } satisfies End)}\n`)
}

const damaged = (path: string, why: string): AppError =>
  new AppError('invalid', `${path} is not a whole backup: ${why}. Nothing was changed. Use another copy of it.`)

/** Every line but the last one, which has been checked when the iteration ends. */
export async function* readBackup(path: string): AsyncGenerator<Exclude<Line, End>> {
  if (!existsSync(path)) throw new AppError('not_found', `There is no file ${path}.`)
  const hash = new Bun.CryptoHasher('sha256')
  const source = createReadStream(path)
  const plain = createZstdDecompress()
  const failed = pipeline(source, plain).then(
    () => undefined,
    (error: NodeJS.ErrnoException) => error,
  )
  let end: End | undefined
  let first = true
  try {
    for await (const text of linesOf(plain)) {
      if (end) throw damaged(path, 'something comes after its end')
      const line = parse(path, text)
      if (first && !('format' in line)) throw damaged(path, 'it does not begin like one')
      first = false
      if ('done' in line) {
        end = line
        continue
      }
      hash.update(`${text}\n`)
      yield line
    }
  } catch (error) {
    if (error instanceof AppError) throw error
    throw damaged(path, error instanceof Error ? error.message : String(error))
  } finally {
    source.destroy()
    plain.destroy()
  }
  const error = await failed
  if (!end) throw damaged(path, error ? error.message : 'its end is missing')
  if (end.sha256 !== hash.digest('hex')) throw damaged(path, 'its checksum does not match')
}

/** By line feeds only: readline would also cut at separators that may stand inside a text. */
async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let rest = ''
  for await (const chunk of chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() as string
    yield* lines
  }
  if (rest) yield rest
}

function parse(path: string, text: string): Line {
  try {
    return JSON.parse(text) as Line
  } catch {
    throw damaged(path, 'a line of it cannot be read')
  }
}

/** The same for the same rows in any order, since the two databases sort texts differently. */
export class Sum {
  rows = 0
  #sum = 0n

  add(row: Row): void {
    this.rows++
    const digest = new Bun.CryptoHasher('sha256').update(JSON.stringify(row)).digest()
    this.#sum = BigInt.asUintN(64, this.#sum + digest.readBigUInt64LE(0))
  }

  toString(): string {
    return this.#sum.toString(16)
  }
}
