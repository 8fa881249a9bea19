import { AppError, invalid } from '../../errors.ts'
import { Cursor, DamagedPicture, type ParsedPicture, type Size, startsWithText } from './cursor.ts'
import { parseJpeg } from './jpeg.ts'

/**
 * Checks and cleans uploaded pictures. The format is detected from the bytes, never from a name or header. Every part
 * is read, so that a file is complete and has no data after its end. Metadata that browsers do not need, such as the
 * place of a photo, is removed. Pictures are not decoded, so a small file cannot expand to a huge one.
 */
export interface Picture {
  type: string
  width: number
  height: number
  bytes: Uint8Array
}

const MOST_SIDE = 8192
const MOST_PIXELS = 40_000_000

const formats = [
  {
    name: 'PNG',
    type: 'image/png',
    extension: 'png',
    is: (b: Buffer) => startsWithText(b, '\x89PNG\r\n\x1a\n'),
    read: png,
  },
  {
    name: 'JPEG',
    type: 'image/jpeg',
    extension: 'jpg',
    is: (b: Buffer) => startsWithText(b, '\xff\xd8\xff'),
    read: parseJpeg,
  },
  {
    name: 'GIF',
    type: 'image/gif',
    extension: 'gif',
    is: (b: Buffer) => startsWithText(b, 'GIF87a') || startsWithText(b, 'GIF89a'),
    read: gif,
  },
  {
    name: 'WebP',
    type: 'image/webp',
    extension: 'webp',
    is: (b: Buffer) => startsWithText(b, 'RIFF') && startsWithText(b.subarray(8), 'WEBP'),
    read: webp,
  },
]

export const extensionOf = (type: string): string | undefined =>
  formats.find((format) => format.type === type)?.extension

export function readPicture(file: Uint8Array): Picture {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength)
  const format = formats.find(({ is }) => is(bytes))
  if (!format)
    throw new AppError(
      'unsupported_media',
      'The file is not a PNG, JPEG, WebP or GIF picture. Save it as one of these and upload it again.',
    )
  const { name, type } = format
  const cursor = new Cursor(bytes)
  let found: ParsedPicture
  try {
    found = format.read(cursor)
  } catch (error) {
    if (!(error instanceof DamagedPicture)) throw error
    throw invalid(
      '/file',
      `The ${name} picture is damaged or incomplete: ${error.message}. Save it again and upload the new file.`,
    )
  }
  if (cursor.left > 0)
    throw invalid('/file', `The ${name} picture has other data after its end. Save it again and upload the new file.`)
  const { width, height, kept } = found
  if (width < 1 || height < 1) throw invalid('/file', `The ${name} picture has a width or height of 0.`)
  if (Math.max(width, height) > MOST_SIDE || width * height > MOST_PIXELS)
    throw new AppError(
      'too_large',
      `The picture has ${width} × ${height} pixels. The limits are ${MOST_SIDE} pixels per side and 40 megapixels.`,
    )
  return { type, width, height, bytes: Buffer.concat(kept) }
}

// ---- PNG

/** Chunks for the picture and its colours. Texts, dates, EXIF and private chunks are removed. */
const pngParts = new Set([
  'IHDR',
  'PLTE',
  'IDAT',
  'IEND',
  'tRNS',
  'gAMA',
  'cHRM',
  'sRGB',
  'iCCP',
  'cICP',
  'sBIT',
  'bKGD',
  'pHYs',
  'acTL',
  'fcTL',
  'fdAT',
])

function png(file: Cursor): ParsedPicture {
  const kept: Uint8Array[] = [file.take(8)]
  let size: Size | undefined
  let drawn = false
  for (;;) {
    const start = file.part()
    const length = file.take(4).readUInt32BE()
    const name = file.take(4).toString('latin1')
    const data = file.take(length)
    const covered = file.since(start + 4)
    if (file.take(4).readUInt32BE() !== Bun.hash.crc32(covered)) throw new DamagedPicture('a checksum does not match')
    if ((name === 'IHDR') !== (size === undefined) || (name === 'IHDR' && length !== 13))
      throw new DamagedPicture('it does not start with its size')
    if (name === 'IHDR') size = { width: data.readUInt32BE(0), height: data.readUInt32BE(4) }
    if (name === 'IDAT') drawn = true
    if (pngParts.has(name)) kept.push(file.since(start))
    else if (!/^[a-z][A-Za-z]{3}$/.test(name)) throw new DamagedPicture('it has an unknown part')
    if (name !== 'IEND') continue
    if (!drawn || !size || length > 0) throw new DamagedPicture('there is no picture in it')
    return { ...size, kept }
  }
}

// ---- GIF

const LOOP = '!\xff\x0bNETSCAPE2.0\x03\x01'
const LOOP_LENGTH = 19

function gif(file: Cursor): ParsedPicture {
  const head = file.take(13)
  const size = { width: head.readUInt16LE(6), height: head.readUInt16LE(8) }
  file.take(colours(head[10] as number))
  const kept: Uint8Array[] = [file.since(0)]
  let drawn = false
  for (;;) {
    const start = file.part()
    const kind = file.byte()
    if (kind === 0x3b) {
      if (!drawn) throw new DamagedPicture('there is no picture in it')
      return { ...size, kept: [...kept, file.since(start)] }
    }
    if (kind === 0x2c) {
      const frame = file.take(9)
      // Browsers enlarge the canvas for larger frames.
      size.width = Math.max(size.width, frame.readUInt16LE(0) + frame.readUInt16LE(4))
      size.height = Math.max(size.height, frame.readUInt16LE(2) + frame.readUInt16LE(6))
      file.take(colours(frame[8] as number) + 1)
      skipBlocks(file)
      kept.push(file.since(start))
      drawn = true
    } else if (kind === 0x21) {
      const label = file.byte()
      skipBlocks(file)
      // Keeps the duration of frames and the number of repetitions; removes comments and application data.
      const extension = file.since(start)
      if (label === 0xf9 || (extension.length === LOOP_LENGTH && startsWithText(extension, LOOP))) kept.push(extension)
    } else throw new DamagedPicture('a part of it is missing')
  }
}

const colours = (flags: number): number => (flags & 0x80 ? 3 << ((flags & 7) + 1) : 0)

/** Skips data blocks. There may be millions, so they do not count as parts. */
function skipBlocks(file: Cursor): void {
  const { bytes } = file
  let length: number | undefined
  do {
    length = bytes[file.at]
    if (length === undefined) throw new DamagedPicture('it ends too early')
    file.at += length + 1
  } while (length !== 0)
}

// ---- WebP

const HAS_METADATA = 0x0c

function webp(file: Cursor): ParsedPicture {
  if (file.take(12).readUInt32LE(4) !== file.bytes.length - 8)
    throw new DamagedPicture('its length does not match its header')
  const first = chunkOf(file)
  if (first.name !== 'VP8X') return { ...sizeOf(first), kept: riff([first]) }
  if (first.data.length !== 10) throw new DamagedPicture('its size is missing')
  const canvas = { width: first.data.readUIntLE(4, 3) + 1, height: first.data.readUIntLE(7, 3) + 1 }
  const flags = Buffer.from(first.data)
  flags[0] = (flags[0] as number) & ~HAS_METADATA
  const kept: Chunk[] = [{ name: 'VP8X', data: flags }]
  const sizes: Size[] = []
  while (file.left > 0) {
    const chunk = chunkOf(file)
    if (chunk.name === 'VP8 ' || chunk.name === 'VP8L') sizes.push(sizeOf(chunk))
    else if (chunk.name === 'ANMF') sizes.push(frameOf(chunk))
    else if (!['ICCP', 'ANIM', 'ALPH'].includes(chunk.name)) continue
    kept.push(chunk)
  }
  if (sizes.length === 0) throw new DamagedPicture('there is no picture in it')
  if (sizes.some(({ width, height }) => width > canvas.width || height > canvas.height))
    throw new DamagedPicture('it is larger than its header says')
  return { ...canvas, kept: riff(kept) }
}

interface Chunk {
  name: string
  data: Buffer
}

function chunkOf(file: Cursor): Chunk {
  file.part()
  const name = file.take(4).toString('latin1')
  const length = file.take(4).readUInt32LE()
  const data = file.take(length)
  file.take(length % 2)
  return { name, data }
}

/** Returns the size from the header of the image data. */
function sizeOf({ name, data }: Chunk): Size {
  if (name === 'VP8L' && data.length > 5 && data[0] === 0x2f) {
    const bits = data.readUInt32LE(1)
    return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
  }
  if (name === 'VP8 ' && data.length > 10 && data.readUIntBE(3, 3) === 0x9d012a) {
    const tag = data.readUIntLE(0, 3)
    const isWhole = (tag & 1) === 0 && tag >>> 5 <= data.length - 10
    if (isWhole) return { width: data.readUInt16LE(6) & 0x3fff, height: data.readUInt16LE(8) & 0x3fff }
  }
  throw new DamagedPicture('its image data is missing')
}

/** Returns the size of the canvas that a frame of an animation needs. A frame has an offset, then its own chunks. */
function frameOf({ data }: Chunk): Size {
  const frame = new Cursor(data)
  const [x = 0, y = 0] = [0, 3].map((at) => (frame.left < 16 ? 0 : data.readUIntLE(at, 3) * 2))
  frame.take(16)
  let size: Size | undefined
  while (frame.left > 0) {
    const chunk = chunkOf(frame)
    if (chunk.name !== 'ALPH') size = sizeOf(chunk)
  }
  if (!size) throw new DamagedPicture('there is no picture in it')
  return { width: x + size.width, height: y + size.height }
}

function riff(chunks: Chunk[]): Uint8Array[] {
  const parts = chunks.flatMap(({ name, data }) => [
    Buffer.from(name, 'latin1'),
    number32(data.length),
    data,
    Buffer.alloc(data.length % 2),
  ])
  return [
    Buffer.from('RIFF'),
    number32(parts.reduce((sum, part) => sum + part.length, 4)),
    Buffer.from('WEBP'),
    ...parts,
  ]
}

function number32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}
