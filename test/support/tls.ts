import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { OutboundOptions } from '../../src/outside/outbound.ts'

export interface Certificate {
  cert: string
  key: string
}

/** Self-signed, for these host names, made now. */
export function certificateFor(...names: string[]): Certificate {
  const folder = mkdtempSync(join(tmpdir(), 'tutti-tls-'))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  try {
    const made = Bun.spawnSync([
      'openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2', '-keyout', key, '-out', cert,
      '-subj', `/CN=${names[0]}`, '-addext', `subjectAltName=${names.map((name) => `DNS:${name}`).join(',')}`,
    ]) // biome-ignore format: a command line
    if (!made.success) throw new Error(`openssl: ${made.stderr}`)
    return { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A public address in the eyes of the guard; connections to it end at the loopback server of the test. */
export const PUBLIC = '93.184.215.14'

/** The names that the test's server has, as if they were out on the Internet. */
export const asIfPublic = (ca: string): OutboundOptions => ({
  resolve: async () => [PUBLIC],
  dial: () => '127.0.0.1',
  ca,
})
