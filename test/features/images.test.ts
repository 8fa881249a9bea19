import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { AppError } from '../../src/errors.ts'
import { readPicture } from '../../src/features/uploads/images.ts'
import {
  animatedWebp, exif, gif, gifExtension, gifFrame, gifLoop, HEIGHT, jfif, jpeg, jpegSegment, lossless, lossy, pictures, png, pngChunk, pngHeader, riff, vp8x, WIDTH, webp,
  webpChunk, webpFrame,
} from '../support/pictures.ts' // biome-ignore format: a list

function refusal(bytes: Uint8Array): string {
  try {
    readPicture(bytes)
  } catch (error) {
    if (error instanceof AppError) return error.code
    throw error
  }
  return 'taken'
}
const join = (...parts: (Uint8Array | string)[]) => Buffer.concat(parts.map((part) => Buffer.from(part as string)))

describe('readPicture accepts', () => {
  test.each(pictures)('%s, recognised by its bytes', (_name, type, bytes) => {
    expect(readPicture(bytes)).toEqual({ type, width: WIDTH, height: HEIGHT, bytes })
  })

  test('a picture inside a larger buffer', () => {
    const bytes = png()
    expect(readPicture(join('before', bytes, 'behind').subarray(6, 6 + bytes.length)).bytes).toEqual(bytes)
  })

  test('at most 8192 pixels a side and 40 megapixels', () => {
    const sized = (width: number, height: number) => refusal(png([], pngHeader(width, height)))
    expect([sized(8192, 4882), sized(1, 8192), sized(6324, 6324)]).toEqual(['taken', 'taken', 'taken'])
    expect([
      sized(8193, 1),
      sized(1, 8193),
      sized(8192, 4883),
      sized(50_000, 50_000),
      sized(2 ** 32 - 1, 2 ** 32 - 1),
    ]).toEqual(Array(5).fill('too_large'))
    expect([sized(0, 8), sized(8, 0), sized(0, 0)]).toEqual(Array(3).fill('invalid'))
    expect(refusal(gif([], 50_000, 50_000))).toBe('too_large')
    expect(refusal(gif([gifFrame(60_000, 60_000)]))).toBe('too_large')
    expect(refusal(gif([], 0, 0))).toBe('taken')
    expect(refusal(riff(vp8x(0, 50_000, 50_000), lossy))).toBe('too_large')
    const huge = jpeg()
    huge.writeUInt32BE(0xc350c350, huge.indexOf(Buffer.of(0xff, 0xc0)) + 5)
    expect(refusal(huge)).toBe('too_large')
    huge.writeUInt32BE(0x00000008, huge.indexOf(Buffer.of(0xff, 0xc0)) + 5)
    expect(refusal(huge)).toBe('invalid')
  })
})

describe('readPicture refuses', () => {
  test('everything but the four formats', () => {
    const others = [
      '', 'x', '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>', '<?xml version="1.0"?><svg/>', '<!doctype html><script>alert(1)</script>', '%PDF-1.7\n', 'PK\x03\x04',
      'BM\x46\0\0\0', 'II*\0', 'MM\0*', '\0\0\x01\0', 'RIFF\x24\0\0\0WAVEfmt ', 'RIFF', 'GIF', 'GIF88a', 'GIF89', 'GIF89b', '\x89PNG', '\x89PNG\n\r\x1a\n', '\xff\xd8', '\0\0\0\x0cJXL ', '\xff\x0a',
      '\0\0\0\x20ftypavif', '{"file":{"path":"/etc/passwd"}}', ` ${png().toString('latin1')}`, `\n${gif().toString('latin1')}`, `<script>/*${jpeg().toString('latin1')}`,
    ] // biome-ignore format: a table
    for (const text of others)
      expect([text.slice(0, 30), refusal(Buffer.from(text, 'latin1'))]).toEqual([
        text.slice(0, 30),
        'unsupported_media',
      ])
  })

  test.each(pictures)('%s that is cut off at any place', (_name, _type, bytes) => {
    const taken = Array.from({ length: bytes.length }, (_, length) => length).filter(
      (length) => refusal(bytes.subarray(0, length)) === 'taken',
    )
    expect(taken).toEqual([])
  })

  test.each(pictures)('%s with bytes behind its end', (_name, _type, bytes) => {
    const tails = [
      '\0',
      '\n',
      '<script>alert(1)</script>',
      '*/=1;alert(1)//',
      'PK\x05\x06',
      '<?php system($_GET[0]);',
      ...pictures.map(([, , other]) => other),
    ]
    for (const tail of tails) expect(refusal(join(bytes, tail))).toBe('invalid')
  })

  test('a WebP whose length includes a tail', () => {
    for (const [, , bytes] of pictures.filter(([, type]) => type === 'image/webp')) {
      const longer = join(bytes, '<script>alert(1)</script>!')
      longer.writeUInt32LE(longer.length - 8, 4)
      expect(refusal(longer)).toBe('invalid')
    }
    expect(refusal(riff(lossy, webpChunk('EXIF', 'x')))).toBe('invalid')
  })

  test('chunks that are missing, doubled or in the wrong place', () => {
    const [head, end] = [png().subarray(0, 8), pngChunk('IEND')]
    const wrong: Record<string, Buffer> = {
      'PNG without a picture': join(head, pngHeader(), end),
      'PNG without a header': join(head, pngChunk('IDAT', 'x'), end),
      'PNG with two headers': png([pngHeader()]),
      'PNG with a short header': png([], pngChunk('IHDR', 'x'.repeat(12))),
      'PNG whose end holds something': join(head, pngHeader(), pngChunk('IDAT', 'x'), pngChunk('IEND', '<script>')),
      'PNG with a part nobody knows': png([pngChunk('CgBI', 'x')]),
      'PNG with a part that has no name': png([pngChunk('te\0t', 'x')]),
      'PNG with a part that never ends': png([Buffer.from('\xff\xff\xff\xfftEXt', 'latin1')]),
      'JPEG without a scan': join(jpeg().subarray(0, 2), jfif, Buffer.of(0xff, 0xd9)),
      'JPEG with two sizes': jpeg([jpegSegment(0xc0, '\x08\0\x08\0\x08\x01\x01\x11\0')]),
      'JPEG with a scan before its size': jpeg([jpegSegment(0xda, 'x')]),
      'JPEG with arithmetic coding': jpeg([jpegSegment(0xc9, '\x08\0\x08\0\x08\x01\x01\x11\0')]),
      'JPEG with a size that is none': jpeg([jpegSegment(0xc0, '\x08\0\x08')]),
      'JPEG with a part of no length': jpeg([Buffer.of(0xff, 0xdb, 0, 1)]),
      'JPEG within a JPEG': jpeg([Buffer.of(0xff, 0xd8)]),
      'JPEG with stray bytes': jpeg([Buffer.from('stray')]),
      'GIF without a frame': join(gif().subarray(0, 19), ';'),
      'GIF with an unknown block': gif([Buffer.of(0x2d)]),
      'WebP without a picture': riff(vp8x(0)),
      'WebP with only a profile': riff(vp8x(0x20), webpChunk('ICCP', 'x')),
      'WebP whose picture is larger than it says': riff(vp8x(0, 4, 4), lossy),
      'WebP whose frame stands outside': riff(vp8x(2), webpFrame(lossless, 2, 0)),
      'WebP with an empty frame': riff(vp8x(2), webpChunk('ANMF', Buffer.alloc(16))),
      'WebP with half a frame': riff(vp8x(2), webpChunk('ANMF', Buffer.alloc(7))),
      'WebP with something else in a frame': riff(vp8x(2), webpFrame(join(lossless, webpChunk('EXIF', 'here')))),
      'WebP that is no picture inside': riff(webpChunk('VP8L', 'xxxxxxxx')),
      'WebP of other contents': riff(webpChunk('JUNK', 'x')),
    }
    for (const [name, bytes] of Object.entries(wrong)) expect([name, refusal(bytes)]).toEqual([name, 'invalid'])
  })

  test('a PNG with any bit changed, because checksums cover it', () => {
    const bytes = png()
    for (let i = 8; i < bytes.length; i++) {
      const bad = Buffer.from(bytes)
      bad[i] = (bad[i] as number) ^ 1
      expect([i, refusal(bad)]).not.toEqual([i, 'taken'])
    }
  })

  test('thousands of chunks', () => {
    const many = (part: Uint8Array) => Buffer.concat(Array<Uint8Array>(5001).fill(part))
    for (const bytes of [png([many(pngChunk('gAMA'))]), jpeg([many(jpegSegment(0xdb, ''))]), gif([many(gifExtension(0xf9))]), webp(many(webpChunk('ICCP', '')))])
      expect(refusal(bytes)).toBe('invalid') // biome-ignore format: a list
  })
})

describe('readPicture keeps', () => {
  test('of a PNG colours and animation, but no texts, dates, EXIF or private chunks', () => {
    const notes = ['tEXt', 'zTXt', 'iTXt', 'eXIf', 'tIME', 'vpAg', 'iDOT'].map((name) => pngChunk(name, 'secret place'))
    const needed = ['gAMA', 'sRGB', 'iCCP', 'pHYs', 'acTL', 'fcTL'].map((name) => pngChunk(name, 'needed'))
    expect(readPicture(png([...notes, ...needed, ...notes])).bytes).toEqual(png(needed))
  })

  test('of a JPEG density and colours, but no EXIF, XMP, IPTC, thumbnails or comments', () => {
    const notes = [
      ...[0xe1, 0xe3, 0xed, 0xef, 0xfe].map((marker) => jpegSegment(marker, 'secret place')),
      jpegSegment(0xe1, exif(1)),
      jpegSegment(0xe1, 'http://ns.adobe.com/xap/1.0/\0<secret place/>'),
      jpegSegment(0xe0, 'JFXX\0secret thumbnail'),
      jpegSegment(0xe2, 'MPF\0secret place'),
      jpegSegment(0xee, 'secret place'),
    ]
    const needed = [jpegSegment(0xe2, 'ICC_PROFILE\0\x01\x01profile'), jpegSegment(0xee, 'Adobe\0d\0\0\0\0\x01')]
    expect(readPicture(jpeg([...notes, ...needed])).bytes).toEqual(jpeg(needed))
  })

  test('of a JPEG the orientation of a photo, and no other EXIF', () => {
    for (const order of ['II', 'MM'] as const)
      for (let orientation = 0; orientation <= 9; orientation++) {
        const { bytes } = readPicture(jpeg([jpegSegment(0xe1, exif(orientation, order))]))
        const kept = orientation >= 2 && orientation <= 8
        expect(bytes.length).toBe(jpeg().length + (kept ? 36 : 0))
        expect(Buffer.from(bytes).includes('GPS')).toBe(false)
        expect(Buffer.from(bytes).includes('Cam')).toBe(false)
        if (kept)
          expect(
            Buffer.from(bytes)
              .subarray(jfif.length + 2, jfif.length + 38)
              .toString('latin1'),
          ).toBe(
            `\xff\xe1\0\x22Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0${String.fromCharCode(orientation)}\0\0\0\0\0\0`,
          )
        expect(readPicture(bytes).bytes).toEqual(bytes)
      }
    for (const broken of [
      'Exif\0\0',
      'Exif\0\0II*\0',
      'Exif\0\0II*\0\xff\xff\xff\xff\xff\xff',
      'Exif\0\0MM\0*\0\0\0\x08\xff\xff\x01\x12',
    ])
      expect(readPicture(jpeg([jpegSegment(0xe1, Buffer.from(broken, 'latin1'))])).bytes).toEqual(jpeg())
  })

  test('of a GIF the loop, but no comments or application data', () => {
    const notes = [
      gifExtension(0xfe, 'secret', 'place'),
      gifExtension(0x01, 'secret place'),
      gifExtension(0xff, 'XMP DataXMP', 'secret place'),
      gifExtension(0xce, 'secret'),
    ]
    const fake = gifExtension(0xff, 'NETSCAPE2.0', '\x01\0\0', 'secret place')
    expect(readPicture(gif([...notes, gifLoop, fake, ...notes])).bytes).toEqual(gif([gifLoop]))
  })

  test('of a WebP no EXIF, XMP or unknown chunks, and no flag that announces them', () => {
    const notes = ['EXIF', 'XMP ', 'JUNK'].map((name) => webpChunk(name, 'secret place'))
    expect(readPicture(riff(vp8x(0x2c), webpChunk('ICCP', 'odd'), lossy, ...notes)).bytes).toEqual(
      riff(vp8x(0x20), webpChunk('ICCP', 'odd'), lossy),
    )
    expect(readPicture(animatedWebp).bytes).toEqual(animatedWebp)
    const padded = Buffer.from(riff(vp8x(0), webpChunk('ICCP', 'odd'), lossy))
    padded[padded.indexOf('odd') + 3] = 0x41
    expect(readPicture(padded).bytes).toEqual(riff(vp8x(0), webpChunk('ICCP', 'odd'), lossy))
  })
})

describe('readPicture with damaged input', () => {
  /** A real picture with bytes changed, taken out, put in or swapped with another's. */
  const mutated = fc
    .tuple(
      fc.constantFrom(
        ...pictures.map(([, , bytes]) => bytes),
        jpeg([jpegSegment(0xe1, exif(6))]),
        png([pngChunk('tEXt', 'x')]),
        webp(webpChunk('EXIF', 'x')),
      ),
      fc.array(
        fc.tuple(
          fc.constantFrom('set', 'cut', 'add', 'copy'),
          fc.nat(1000),
          fc.nat(1000),
          fc.uint8Array({ minLength: 1, maxLength: 8 }),
        ),
        { minLength: 1, maxLength: 6 },
      ),
    )
    .map(([picture, changes]) =>
      changes.reduce((bytes: Buffer, [kind, at, other, data]) => {
        const [from, to] = [at % (bytes.length + 1), other % (bytes.length + 1)].sort((a, b) => a - b) as [
          number,
          number,
        ]
        if (kind === 'set') return join(bytes.subarray(0, from), data, bytes.subarray(from + data.length))
        if (kind === 'cut') return join(bytes.subarray(0, from), bytes.subarray(to))
        if (kind === 'add') return join(bytes.subarray(0, from), data, bytes.subarray(from))
        return join(bytes.subarray(0, to), bytes.subarray(from, to), bytes.subarray(to))
      }, Buffer.from(picture)),
    )

  test('refuses it, or returns a whole picture that it accepts unchanged', () => {
    let taken = 0
    fc.assert(
      fc.property(mutated, (bytes) => {
        const before = Buffer.from(bytes)
        if (refusal(bytes) !== 'taken') return
        taken++
        const picture = readPicture(bytes)
        expect(bytes).toEqual(before)
        expect(picture.bytes.length).toBeLessThanOrEqual(bytes.length)
        expect(picture.width * picture.height).toBeLessThanOrEqual(40_000_000)
        expect(readPicture(picture.bytes)).toEqual(picture)
        expect(refusal(picture.bytes.subarray(0, -1))).not.toBe('taken')
        expect(refusal(join(picture.bytes, ';'))).not.toBe('taken')
      }),
      { numRuns: 3000, seed: 20261115 },
    )
    expect(taken).toBeGreaterThan(50)
  })

  test('refuses noise behind a valid beginning', () => {
    const beginnings = [
      ...pictures.map(([, , bytes]) => bytes.subarray(0, 12)),
      ...pictures.map(([, , bytes]) => bytes.subarray(0, bytes.length >> 1)),
    ]
    fc.assert(
      fc.property(fc.constantFrom(...beginnings), fc.uint8Array({ maxLength: 300 }), (head, noise) =>
        expect(refusal(join(head, noise))).not.toBe('taken'),
      ),
      { numRuns: 3000, seed: 20261115 },
    )
  })
})
