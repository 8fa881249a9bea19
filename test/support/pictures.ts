import { deflateSync } from 'node:zlib'

/** Small real pictures of 12 × 8 pixels, put together so that tests can put other things in or take parts away. */
export const WIDTH = 12
export const HEIGHT = 8

const from = (base64: string) => Buffer.from(base64, 'base64')
const latin = (text: string) => Buffer.from(text, 'latin1')
const join = (...parts: (Uint8Array | string)[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? latin(part) : part)))
const be32 = (value: number) => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
const le = (value: number, length: number) => {
  const bytes = Buffer.alloc(length)
  bytes.writeUIntLE(value, 0, length)
  return bytes
}

// ---- PNG

export function pngChunk(name: string, data: Uint8Array | string = ''): Buffer {
  const covered = join(name, data)
  return join(be32(covered.length - 4), covered, be32(Bun.hash.crc32(covered)))
}
export const pngHeader = (width = WIDTH, height = HEIGHT) =>
  pngChunk('IHDR', join(be32(width), be32(height), '\x08\x02\0\0\0'))
const pngRows = deflateSync(
  Buffer.concat(Array.from({ length: HEIGHT }, (_, y) => join('\0', Buffer.alloc(WIDTH * 3, y * 30)))),
)
/** `extra` stands between the header and the picture. */
export const png = (extra: Uint8Array[] = [], header = pngHeader()) =>
  join('\x89PNG\r\n\x1a\n', header, ...extra, pngChunk('IDAT', pngRows), pngChunk('IEND'))

// ---- JPEG

export const jpegSegment = (marker: number, data: Uint8Array | string) => {
  const body = join(data)
  return join(Buffer.of(0xff, marker, (body.length + 2) >> 8, (body.length + 2) & 255), body)
}
export const jfif = jpegSegment(0xe0, 'JFIF\0\x01\x01\0\0\x01\0\x01\0\0')
/** Tables, size and picture. */
const jpegRest = from(
  '/9sAQwAGBAUGBQQGBgUGBwcGCAoQCgoJCQoUDg8MEBcUGBgXFBYWGh0lHxobIxwWFiAsICMmJykqKRkfLTAtKDAlKCko/9sAQwEHBwcKCAoTCgoTKBoWGigoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgo/8AAEQgACAAMAwEiAAIRAQMRAf/EABUAAQEAAAAAAAAAAAAAAAAAAAAF/8QAIxAAAQEFCQAAAAAAAAAAAAAAABEBBBIUMgUTFRYhMVJT0f/EABUBAQEAAAAAAAAAAAAAAAAAAAIH/8QAHREAAQMFAQAAAAAAAAAAAAAAAgEEEQASITFBIv/aAAwDAQACEQMRAD8AkTFh5buZN4xrvVsFa7RcdKfSKAVlq0RrfBkVxKXolKJ4M6FOCmEpEV0Y1X//2Q==',
)
export const jpeg = (extra: Uint8Array[] = []) => join('\xff\xd8', jfif, ...extra, jpegRest)

/** As a camera writes it: how it was held, and in the same breath where it was. */
export function exif(orientation: number, order: 'II' | 'MM' = 'II'): Buffer {
  const number = (value: number, length: number) => (order === 'II' ? le(value, length) : le(value, length).reverse())
  const entry = (tag: number, type: number, count: number, value: Uint8Array) =>
    join(number(tag, 2), number(type, 2), number(count, 4), value)
  const entries = [
    entry(0x010f, 2, 4, latin('Cam\0')),
    entry(0x0112, 3, 1, join(number(orientation, 2), '\0\0')),
    entry(0x8825, 4, 1, number(100, 4)),
  ]
  return join(
    'Exif\0\0',
    order,
    number(42, 2),
    number(8, 4),
    number(entries.length, 2),
    ...entries,
    number(0, 4),
    'GPS 52.5200 N 13.4050 E',
  )
}

// ---- GIF

export const gifLoop = join('!\xff\x0bNETSCAPE2.0\x03\x01\0\0\0')
export const gifExtension = (label: number, ...blocks: string[]) =>
  join('!', Buffer.of(label), ...blocks.map((block) => join(Buffer.of(block.length), block)), '\0')
const gifHead = (width: number, height: number) =>
  join('GIF89a', le(width, 2), le(height, 2), '\x80\0\0\0\0\0\xff\xff\xff')
/** One pixel on a canvas of its size. */
export const gifFrame = (left = 0, top = 0) =>
  join(gifExtension(0xf9, '\0\0\0\0'), ',', le(left, 2), le(top, 2), '\x01\0\x01\0\0\x02\x02D\x01\0')
export const gif = (extra: Uint8Array[] = [], width = WIDTH, height = HEIGHT) =>
  join(gifHead(width, height), ...extra, gifFrame(), ';')

// ---- WebP

export const webpChunk = (name: string, data: Uint8Array | string) => {
  const body = join(data)
  return join(name, le(body.length, 4), body, Buffer.alloc(body.length % 2))
}
export const riff = (...chunks: Uint8Array[]) => join('RIFF', le(join(...chunks).length + 4, 4), 'WEBP', ...chunks)
export const lossy = webpChunk(
  'VP8 ',
  from(
    'cAIAnQEqDAAIAAFAJiWwAsPim4jgBapxDBQ6AAD+T6tCz+id6PCE3rt+o5/+ov1bkdrafdUr5bKwYPk6XVhfPMAxAD/89bj/2w/9vN9/qA7jvt///vYL//dgv9mNX36zxLBewAAA',
  ),
)
export const lossless = webpChunk('VP8L', from('LwvAAQAP8J7Hb5F+oX7+gwcCgSSw/cmGiOh/QAMA'))
export const vp8x = (flags: number, width = WIDTH, height = HEIGHT) =>
  webpChunk('VP8X', join(Buffer.of(flags, 0, 0, 0), le(width - 1, 3), le(height - 1, 3)))
export const webpFrame = (image: Uint8Array = lossless, x = 0, y = 0) =>
  webpChunk('ANMF', join(le(x / 2, 3), le(y / 2, 3), le(WIDTH - 1, 3), le(HEIGHT - 1, 3), le(100, 3), '\0', image))
export const webp = (...metadata: Uint8Array[]) => riff(vp8x(metadata.length > 0 ? 0x0c : 0), lossy, ...metadata)
export const animatedWebp = riff(vp8x(0x02), webpChunk('ANIM', '\xff\xff\xff\xff\0\0'), webpFrame(), webpFrame(lossy))

/** As a browser sends it. */
export function pictureForm(bytes: Uint8Array = png(), name = 'picture.png', type = 'image/png'): FormData {
  const form = new FormData()
  form.set('file', new Blob([new Uint8Array(bytes)], { type }), name)
  return form
}

/** What each format should be taken as. */
export const pictures: [name: string, type: string, bytes: Buffer][] = [
  ['PNG', 'image/png', png()],
  ['JPEG', 'image/jpeg', jpeg()],
  ['GIF', 'image/gif', gif([gifLoop])],
  ['WebP, lossy', 'image/webp', riff(lossy)],
  ['WebP, lossless', 'image/webp', riff(lossless)],
  ['WebP, extended', 'image/webp', webp()],
  ['WebP, animated', 'image/webp', animatedWebp],
]
