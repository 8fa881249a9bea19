import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { Refusal } from '../terminal/refusal.ts'

/**
 * Copies a binary to `target`, next to the one in use, verifies its checksum there and returns it. The copy is what
 * gets verified, so that no one who can write to `source` can change it between check and use.
 */
export function copyVerified(source: string, target: string, expectedSum: string | undefined): string {
  if (!existsSync(source)) throw new Refusal(`File ${source} not found.`, 4)
  try {
    accessSync(dirname(target), constants.W_OK)
    copyFileSync(source, target)
  } catch (error) {
    throw writeError(target, error)
  }
  const sum = new Bun.CryptoHasher('sha256').update(readFileSync(target)).digest('hex')
  const expected = (expectedSum ?? publishedSum(source))?.toLowerCase()
  if (!expected)
    throw new Refusal(
      `No checksum found for ${source}. Its SHA-256 is ${sum}: ` +
        `compare that with the published one, then add --sha256 ${sum}`,
    )
  if (sum !== expected)
    throw new Refusal(`Checksum mismatch: the SHA-256 of ${source} is ${sum}, not ${expected}. Nothing was changed.`)
  chmodSync(target, 0o755)
  return sum
}

/** Reads the checksum from the file `<binary>.sha256` or from SHA256SUMS in the same folder. */
function publishedSum(path: string): string | undefined {
  const name = basename(path)
  const read = (file: string) => (existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [])
  // `sum  name` or `sum *name`, as sha256sum writes them; a file for one binary may contain only the sum.
  const parse = (line: string) => /^([0-9a-f]{64})(?:\s+\*?(.+?))?\s*$/i.exec(line)
  const alone = read(`${path}.sha256`)
    .map(parse)
    .find((found) => found)
  const listed = read(join(dirname(path), 'SHA256SUMS'))
    .map(parse)
    .find((found) => found?.[2] === name)
  return (alone ?? listed)?.[1]
}

/** Runs a binary to get its version. Refuses one that does not run here. */
export function runForVersion(binary: string, name: string): string {
  let output = ''
  try {
    const { exitCode, stdout, stderr } = Bun.spawnSync([binary, '--version'], { timeout: 30_000 })
    output = stdout.toString().trim()
    if (exitCode === 0 && /^\d+\.\d+\.\d+\S*$/.test(output)) return output
    output = stderr.toString().trim() || output
  } catch (error) {
    output = (error as Error).message
  }
  throw new Refusal(
    `${name} does not run on this computer${output ? ` (${output.slice(0, 200)})` : ''}. Nothing was changed.`,
  )
}

/** Writes a file to disk, so that a power cut after renaming it cannot leave an empty binary. */
export function syncFile(path: string): void {
  const fd = openSync(path, 'r+')
  fsyncSync(fd)
  closeSync(fd)
}

export function writeError(path: string, error: unknown): Refusal {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'EACCES' || code === 'EROFS' || code === 'EPERM')
    return new Refusal(`You have no permission to write to ${dirname(path)}. Run this as its owner.`, 3)
  return new Refusal(`The new binary cannot be stored next to the old one: ${message}`, 6)
}
