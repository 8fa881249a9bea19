import { describe, expect, test } from 'bun:test'
import type { RequestHead } from '../../src/tunnel/frames.ts'
import { HandoverVerifier, matchesClaim, signHandover } from '../../src/tunnel/handover.ts'

const key = new Uint8Array(32).fill(1)
const tunnel = '019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a10'
const user = { id: '019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a11', email: 'ada@example.com', role: 'member' as const }
const head: RequestHead = { kind: 'http', service: 'web', method: 'GET', target: '/a', headers: [['x', '1']], user }
const start = Date.parse('2026-11-16T12:00:00Z')

describe('a signed request between instances', () => {
  test('is accepted once, and only for its tunnel', () => {
    const verifier = new HandoverVerifier(key, () => start)
    const signature = signHandover(key, tunnel, 7, head, start)
    expect(verifier.verify(signature, '019a8a7e-5c1f-7d3a-9b52-0c7f6f1f2a12')).toBeUndefined()
    expect(verifier.verify(signature, tunnel)).toMatchObject({ generation: 7, user: user.id, method: 'GET' })
    expect(verifier.verify(signature, tunnel)).toBeUndefined()
  })

  test('is refused with another key, a change, or a wrong time', () => {
    const verifier = new HandoverVerifier(key, () => start)
    expect(verifier.verify(signHandover(new Uint8Array(32), tunnel, 7, head, start), tunnel)).toBeUndefined()
    for (const seconds of [-31, 31])
      expect(verifier.verify(signHandover(key, tunnel, 7, head, start + seconds * 1000), tunnel)).toBeUndefined()
    for (const seconds of [-29, 29])
      expect(verifier.verify(signHandover(key, tunnel, 7, head, start + seconds * 1000), tunnel)).toBeDefined()
    const [body = '', mac] = signHandover(key, tunnel, 7, head, start).split('.')
    const claim = JSON.parse(Buffer.from(body, 'base64url').toString()) as Record<string, unknown>
    const changes = { generation: 8, user: '', method: 'POST', target: '0', head: '0', nonce: crypto.randomUUID() }
    for (const [field, value] of Object.entries(changes)) {
      const forged = Buffer.from(JSON.stringify({ ...claim, [field]: value })).toString('base64url')
      expect(verifier.verify(`${forged}.${mac}`, tunnel)).toBeUndefined()
    }
    for (const nonsense of [null, '', '.', 'x.y', `${body}.`, `${body}.${mac}.x`.slice(0, -10)])
      expect(verifier.verify(nonsense, tunnel)).toBeUndefined()
  })

  test('has a nonce that is remembered as long as its time is valid', () => {
    let now = start
    const verifier = new HandoverVerifier(key, () => now)
    const early = signHandover(key, tunnel, 7, head, start + 30_000)
    expect(verifier.verify(early, tunnel)).toBeDefined()
    now = start + 59_000
    expect(verifier.verify(early, tunnel)).toBeUndefined()
  })

  test('has a signature over the whole head', () => {
    const verifier = new HandoverVerifier(key, () => start)
    const claim = verifier.verify(signHandover(key, tunnel, 7, head, start), tunnel)
    if (!claim) throw new Error('refused')
    expect(matchesClaim(claim, head)).toBe(true)
    const others: Partial<RequestHead>[] = [
      { method: 'POST' },
      { target: '/b' },
      { headers: [['x', '2']] },
      { service: 'api' },
      { kind: 'mcp' },
      { user: { ...user, role: 'owner' } },
      { user: null },
    ]
    for (const other of others) expect(matchesClaim(claim, { ...head, ...other })).toBe(false)
  })
})
