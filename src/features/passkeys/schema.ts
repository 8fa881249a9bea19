import {
  array,
  bool,
  email,
  instant,
  jsonObject,
  nullable,
  object,
  optional,
  pageOf,
  paging,
  recordFields,
  type Static,
  text,
  title,
} from '../../schema.ts'

const name = title(100, { example: 'this laptop' })
const sessionId = text(200, { example: 'svc_one_…', description: 'From the response of begin; works once' })

export const Passkey = object({
  ...recordFields,
  name,
  transports: array(text(20, { example: 'internal' }), 10),
  backedUp: bool({ description: 'Its provider stores a copy, so it survives the loss of the device' }),
  lastUsedAt: nullable(instant()),
})
export type Passkey = Static<typeof Passkey>
export const PasskeyPatch = object({ name })
export type PasskeyPatch = Static<typeof PasskeyPatch>
export const PasskeyQuery = object(paging('createdAt', 'name'))
export type PasskeyQuery = Static<typeof PasskeyQuery>
export const PasskeyPage = pageOf(Passkey)
export type PasskeyPage = Static<typeof PasskeyPage>

/** The inner objects are defined by WebAuthn: the library creates and checks them. */
export const RegistrationBegun = object({
  sessionId,
  options: jsonObject({ description: 'For PublicKeyCredential.parseCreationOptionsFromJSON()' }),
})
export type RegistrationBegun = Static<typeof RegistrationBegun>
export const RegistrationFinish = object({
  sessionId,
  name: optional(name),
  response: jsonObject({ description: 'toJSON() of the result of navigator.credentials.create()' }),
})
export type RegistrationFinish = Static<typeof RegistrationFinish>

export const AuthenticationBegin = object({ email: optional(email()) })
export type AuthenticationBegin = Static<typeof AuthenticationBegin>
export const AuthenticationBegun = object({
  sessionId,
  options: jsonObject({ description: 'For PublicKeyCredential.parseRequestOptionsFromJSON()' }),
})
export type AuthenticationBegun = Static<typeof AuthenticationBegun>
export const AuthenticationFinish = object({
  sessionId,
  response: jsonObject({ description: 'toJSON() of the result of navigator.credentials.get()' }),
})
export type AuthenticationFinish = Static<typeof AuthenticationFinish>
