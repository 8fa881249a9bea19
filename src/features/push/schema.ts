import { bool, id, instant, nullable, object, pageOf, type Static, text } from '../../schema.ts'

export const PushStatus = object({
  on: bool({ description: 'Whether the operator set PUSH=on' }),
  publicKey: nullable(
    text(100, {
      description: 'Public key of this server (VAPID), for `applicationServerKey` of a browser',
      example: 'BDSJz6G3fMrRkwTD0Fkmb9pDNqHC6uaT5fJzUvKqTqFj6b3jI9vA8mYwYyJ2P4wq0rLJv3eO8tGm9x2nB7nJk0M',
    }),
  ),
})
export type PushStatus = Static<typeof PushStatus>

const base64url = (maxLength: number, example: string, description: string) =>
  text(maxLength, { pattern: '^[A-Za-z0-9_-]+={0,2}$', example, description })

/** As `PushSubscription.toJSON()` of a browser returns it, without its expiration time. */
export const PushSubscribe = object({
  endpoint: text(2000, {
    minLength: 10,
    example: 'https://push.example.com/send/fXk3b2',
    description: 'Address of the push service for this browser. Stored encrypted, never returned',
  }),
  keys: object({
    p256dh: base64url(
      100,
      'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
      'Public key of the browser (P-256, uncompressed)',
    ),
    auth: base64url(30, 'BTBZMqHH6r4Tts7J_aSIgg', 'Authentication secret of the browser (16 bytes)'),
  }),
})
export type PushSubscribe = Static<typeof PushSubscribe>

export const PushSubscription = object({
  id: id(),
  createdAt: instant(),
  userAgent: nullable(text(300, { example: 'Mozilla/5.0 (Android 15; Mobile; rv:145.0) Firefox/145.0' })),
  lastOkAt: nullable(instant({ description: 'When the push service last accepted a notification' })),
  current: bool({ description: 'Whether it belongs to the login session of this call' }),
})
export type PushSubscription = Static<typeof PushSubscription>

export const PushSubscriptionPage = pageOf(PushSubscription)
export type PushSubscriptionPage = Static<typeof PushSubscriptionPage>
