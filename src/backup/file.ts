import { createReadStream } from 'node:fs'
import { access, constants, type FileHandle, link, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createZstdCompress, createZstdDecompress } from 'node:zlib'
import { syncDirectory } from '../db/embedded/storage/tree.ts'
import { AppError } from '../errors.ts'
import { LineTooLong, splitLines } from '../text/lines.ts'

/**
 * A backup is JSON lines under zstd: a header, then for each table its columns, its rows and a line with their
 * checksum. Values are Postgres's own text, so that a backup of one database can be loaded into the other. The last 40
 * bytes are a frame that zstd skips, with the SHA-256 of every byte before it.
 */
export type BackupLine = BackupHeader | TableStart | BackupRow | TableEnd
export interface BackupHeader {
  tutti: string
  format: 1
  at: string
  database: string
  migrations: string[]
  tables: number
  /** The master secret, if the installation keeps it in its data folder. */
  secret?: string
}
export interface TableStart {
  table: string
  /** Column names. */
  columns: string[]
}
export type BackupRow = (string | null)[]
export interface TableEnd {
  end: string
  rows: number
  sum: string
}

export const isRow = (line: BackupLine): line is BackupRow => Array.isArray(line)

const ZSTD = Buffer.from([0x28, 0xb5, 0x2f, 0xfd])
const SUM_BYTES = 32
/** Type and length of the skippable frame. */
const SEAL = Buffer.from([0x5e, 0x2a, 0x4d, 0x18, SUM_BYTES, 0, 0, 0])
const TAIL_BYTES = SEAL.length + SUM_BYTES

// ---- writing

/** Throws if no backup can be written to this path, before time is spent on reading the database. */
export async function checkTargetPath(path: string): Promise<void> {
  if (await exists(path)) throw fileExistsError(path)
  await access(dirname(path), constants.W_OK).catch((error: unknown) => {
    throw toFileError(path, error)
  })
}

/** Writes a backup. The file appears complete and synced, or not at all; only its owner can read it. */
export async function writeBackup(
  path: string,
  lines: AsyncIterable<BackupLine>,
  signal?: AbortSignal,
): Promise<number> {
  await sweepDrafts(dirname(path), (name) => name.startsWith(`${basename(path)}.`))
  const draft = `${path}.${Math.random().toString(36).slice(2, 8)}.part`
  let file: FileHandle | undefined
  try {
    if (await exists(path)) throw fileExistsError(path)
    file = await open(draft, 'wx', 0o600)
    const to = file
    const hash = new Bun.CryptoHasher('sha256')
    let bytes = 0
    const put = async (chunk: Buffer) => {
      for (let at = 0; at < chunk.length; ) at += (await to.write(chunk, at)).bytesWritten
      bytes += chunk.length
    }
    const compressed = async (chunks: AsyncIterable<Buffer>) => {
      for await (const chunk of chunks) {
        hash.update(chunk)
        await put(chunk)
      }
    }
    await pipeline(Readable.from(encodeLines(lines)), createZstdCompress(), compressed, { signal })
    await put(Buffer.concat([SEAL, hash.update(SEAL).digest()]))
    await file.sync()
    await file.close()
    await publish(draft, path)
    await syncDirectory(dirname(path))
    return bytes
  } catch (error) {
    await file?.close().catch(() => undefined)
    await rm(draft, { force: true }).catch(() => undefined)
    throw toFileError(path, error)
  }
}

/** Gives the draft its name in one step, and never overwrites a file created meanwhile. */
async function publish(draft: string, path: string): Promise<void> {
  try {
    await link(draft, path)
    await rm(draft)
  } catch (error) {
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes((error as NodeJS.ErrnoException).code ?? ''))
      throw error
    // For disks without hard links, such as a memory stick.
    await (await open(path, 'wx', 0o600)).close()
    await rename(draft, path)
  }
}

const PIECE = 256 << 10

async function* encodeLines(lines: AsyncIterable<BackupLine>): AsyncGenerator<Buffer> {
  let piece = ''
  for await (const line of lines) {
    piece += `${JSON.stringify(line)}\n`
    if (piece.length < PIECE) continue
    yield Buffer.from(piece)
    piece = ''
  }
  yield Buffer.from(piece)
}

/** Deletes drafts left by a killed process. A draft still being written was modified within the last hour. */
export async function sweepDrafts(folder: string, isOurs: (name: string) => boolean): Promise<void> {
  const names = await readdir(folder).catch(() => [])
  for (const name of names.filter((n) => n.endsWith('.part') && isOurs(n))) {
    const path = join(folder, name)
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }))
    if (mtimeMs < Date.now() - 3_600_000) await rm(path, { force: true }).catch(() => undefined)
  }
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT' && error.code !== 'ENOTDIR',
  )

const fileExistsError = (path: string) => new AppError('conflict', `${path} already exists. Choose another name.`)

/** Turns an error of the file system into one that helps the user. */
export function toFileError(path: string, error: unknown): unknown {
  const folder = dirname(path)
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EEXIST':
      return fileExistsError(path)
    case 'ENOENT':
    case 'ENOTDIR':
      return new AppError('not_found', `There is no folder ${folder}. Create it first.`)
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new AppError(
        'forbidden',
        `Tutti may not write to ${folder}. Choose another folder, or change its permissions.`,
      )
    case 'ENOSPC':
    case 'EDQUOT':
    case 'EFBIG':
      return new AppError(
        'disk_full',
        `Not enough disk space in ${folder}. The incomplete file was removed. Free some space, or choose another disk.`,
      )
    default:
      return error
  }
}

// ---- reading

const backupError = (path: string, why: string) =>
  new AppError('invalid', `${path} cannot be used: ${why}. Try another copy of it.`)

export interface CheckedBackup {
  /** Checksum of the whole file; identifies it when a restore is continued. */
  sha256: string
  header: BackupHeader
}

/** Reads and checks every byte, before anything is loaded. */
export async function checkBackup(path: string): Promise<CheckedBackup> {
  const { end, sum } = await endsOf(path)
  const hash = new Bun.CryptoHasher('sha256')
  for await (const chunk of createReadStream(path, { end })) hash.update(chunk)
  const sha256 = hash.update(SEAL).digest('hex')
  if (sha256 !== sum) throw backupError(path, 'it is damaged, its checksum does not match')
  for await (const line of readBackup(path, sha256)) {
    if (isRow(line) || !('format' in line)) break
    if (line.format === 1) return { sha256, header: line }
    throw new AppError(
      'conflict',
      `${path} was made by Tutti ${(line as BackupHeader).tutti}, in a format that this version does not know. Use that version.`,
    )
  }
  throw backupError(path, 'it is not a Tutti backup')
}

/** Returns where the compressed part ends, and the checksum stored in the file. */
async function endsOf(path: string): Promise<{ end: number; sum: string }> {
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw new AppError('not_found', `There is no file ${path}.`)
    throw new AppError('forbidden', `${path} cannot be read: ${error.message}`)
  })
  try {
    const info = await file.stat()
    if (!info.isFile()) throw backupError(path, 'it is not a file')
    const at = async (position: number, length: number) =>
      (await file.read(Buffer.alloc(length), 0, length, position)).buffer
    if (info.size <= TAIL_BYTES || !(await at(0, ZSTD.length)).equals(ZSTD))
      throw backupError(path, 'it is not a Tutti backup')
    const tail = await at(info.size - TAIL_BYTES, TAIL_BYTES)
    if (!tail.subarray(0, SEAL.length).equals(SEAL)) throw backupError(path, 'it is damaged, or its end is missing')
    return { end: info.size - TAIL_BYTES - 1, sum: tail.subarray(SEAL.length).toString('hex') }
  } finally {
    await file.close()
  }
}

/** Reads the lines of a checked file. Throws at the end if the file has changed since the check. */
export async function* readBackup(path: string, sha256: string): AsyncGenerator<BackupLine> {
  const changed = () => new AppError('conflict', `${path} has changed since it was checked. Run the restore again.`)
  const { end } = await endsOf(path)
  const hash = new Bun.CryptoHasher('sha256')
  const plain = createZstdDecompress()
  async function* source() {
    for await (const chunk of createReadStream(path, { end })) {
      hash.update(chunk)
      yield chunk
    }
  }
  const feeding = pipeline(Readable.from(source()), plain).catch(() => undefined)
  try {
    for await (const text of splitLines(plain, { longest: LONGEST, fatal: true })) yield parseBackupLine(path, text)
    if (hash.update(SEAL).digest('hex') !== sha256) throw changed()
  } catch (error) {
    if (error instanceof LineTooLong) throw backupError(path, 'a line in it is longer than any that Tutti writes')
    throw error instanceof AppError ? error : changed()
  } finally {
    plain.destroy()
    await feeding
  }
}

function parseBackupLine(path: string, text: string): BackupLine {
  const line: unknown = JSON.parse(text)
  if (line === null || typeof line !== 'object') throw backupError(path, 'it is not a Tutti backup')
  return line as BackupLine
}

/** More than the largest row needs. A small file could otherwise unpack to more than fits into memory. */
const LONGEST = 256 << 20

/** A checksum independent of row order, since the two databases sort texts differently. */
export class RowChecksum {
  rows = 0
  #sum = 0n

  add(row: BackupRow): void {
    this.rows++
    const digest = new Bun.CryptoHasher('sha256').update(JSON.stringify(row)).digest()
    this.#sum = BigInt.asUintN(64, this.#sum + digest.readBigUInt64LE(0))
  }

  toString(): string {
    return `${this.rows} ${this.#sum.toString(16)}`
  }
}
