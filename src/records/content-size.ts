import { invalid } from '../errors.ts'

/** Throws `too_long` if the content has more bytes than its kind may have. A schema counts characters only. */
export function requireContentSize(content: string, bytes: number, advice = ''): void {
  if (Buffer.byteLength(content) > bytes)
    throw invalid('/content', `content exceeds ${bytes >> 10} KiB.${advice}`, 'too_long')
}
