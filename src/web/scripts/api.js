// What the small pages share: calls to the API, forms, and the dialog that asks once more who it is.

export const $ = (selector, root = document) => root.querySelector(selector)

/** element('p', { class: 'soft' }, 'text', child): text is always text, never markup. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value)
    else if (value !== undefined && value !== false) made.setAttribute(key, value === true ? '' : value)
  }
  made.append(...children.filter((child) => child !== undefined && child !== null))
  return made
}

export class Problem extends Error {
  constructor(status, body) {
    super(body.errors?.map((e) => e.message).join(' ') || body.detail || 'The server did not answer. Is it still running?')
    this.status = status
    this.code = body.code
  }
}

async function send(method, path, body) {
  const answer = await fetch(path, {
    method,
    headers: body === undefined ? {} : { 'content-type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  }).catch(() => undefined)
  const json = await answer?.json().catch(() => ({}))
  if (!answer?.ok) throw new Problem(answer?.status ?? 0, json ?? {})
  return json
}

/** A wrong password there must not be sent twice. */
const signingIn = /^\/api\/auth\/(login|register|otp|magic-link|passkey\/authenticate|reset-password|refresh)/

/** Tries again after renewing an access token that has run out, or after the person has confirmed to be himself. */
export async function call(method, path, body) {
  try {
    return await send(method, path, body)
  } catch (problem) {
    if (problem.status === 401 && !signingIn.test(path)) {
      await send('POST', '/api/auth/refresh', {}).catch(() => {
        throw problem
      })
      return send(method, path, body)
    }
    if (problem.code === 'forbidden.reauth' && (await confirmPerson())) return send(method, path, body)
    throw problem
  }
}

export const get = (path) => call('GET', path)
export const post = (path, body = {}) => call('POST', path, body)

/** Runs the work of a form or button; what goes wrong is told beside it. */
export function guarded(place, work) {
  return async (event) => {
    event?.preventDefault()
    const alert = $('[role=alert]', place) ?? place.appendChild(element('p', { role: 'alert' }))
    alert.textContent = ''
    place.setAttribute('aria-busy', 'true')
    try {
      await work(event)
    } catch (problem) {
      alert.textContent = problem.message
    } finally {
      place.removeAttribute('aria-busy')
    }
  }
}

export const onSubmit = (form, work) =>
  form.addEventListener(
    'submit',
    guarded(form, () => work(Object.fromEntries(new FormData(form)))),
  )

/** The signed-in user, or undefined. */
export async function whoAmI() {
  try {
    return await get('/api/auth/me')
  } catch (problem) {
    if (problem.status !== 401) throw problem
    return send('POST', '/api/auth/refresh', {}).then(
      ({ user }) => user,
      () => undefined,
    )
  }
}

/** A path of this instance and nothing else. */
export function nextPath(fallback = '/account') {
  const next = new URLSearchParams(location.search).get('next')
  return next && /^\/(?![/\\])[\w/?=&%.#-]*$/.test(next) ? next : fallback
}

export const toLogin = () => location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`)

/** The secret stands behind the #, so it never reaches a server log or a Referer header; it leaves the address bar as well. */
export function secretFromFragment() {
  const secret = location.hash.slice(1)
  if (secret) history.replaceState(null, '', location.pathname + location.search)
  return secret
}

const reasons = {
  access_denied: 'You did not allow it at the other side.',
  conflict: 'The other side did not tell your e-mail address. Allow it there, or use another way.',
  'conflict.exists': 'That belongs to an account already. Sign in another way, then connect it in your account.',
  forbidden: 'This instance takes no new registrations.',
  'forbidden.reauth': 'Sign in once more to confirm that it is you, then connect the account.',
  unauthenticated: 'This account cannot sign in.',
}

/** Why signing in somewhere else has led nowhere. */
export function reasonFromFragment() {
  const reason = new URLSearchParams(location.hash.slice(1)).get('error')
  if (!reason) return undefined
  history.replaceState(null, '', location.pathname + location.search)
  return Object.hasOwn(reasons, reason) ? reasons[reason] : 'It did not work at the other side. Try again, or use another way.'
}

function confirmPerson() {
  const { promise, resolve } = Promise.withResolvers()
  const send = element('button', { type: 'button', class: 'quiet' }, 'I have no password: mail me a code')
  const form = element(
    'form',
    {},
    element('h2', {}, 'Is it you?'),
    element('p', { class: 'soft' }, 'This needs you to confirm who you are.'),
    element(
      'label',
      {},
      'Password',
      element('input', { name: 'password', type: 'password', autocomplete: 'current-password', autofocus: true }),
    ),
    send,
    element('p', { role: 'alert' }),
    element(
      'div',
      { class: 'row' },
      element('button', {}, 'Confirm'),
      element('button', { type: 'button', class: 'quiet', value: 'no' }, 'Cancel'),
    ),
  )
  const dialog = element('dialog', {}, form)
  const close = (answer) => {
    dialog.remove()
    resolve(answer)
  }
  send.addEventListener(
    'click',
    guarded(form, async () => {
      const { email } = await get('/api/auth/me')
      await post('/api/auth/otp/send', { email })
      $('label', form).replaceWith(
        element(
          'label',
          {},
          `Code sent to ${email}`,
          element('input', { name: 'code', inputmode: 'numeric', autocomplete: 'one-time-code' }),
        ),
      )
      send.remove()
      $('input', form).focus()
    }),
  )
  $('[value=no]', form).addEventListener('click', () => close(false))
  dialog.addEventListener('cancel', () => close(false))
  onSubmit(form, async (proof) => {
    await post('/api/auth/reauth', proof)
    close(true)
  })
  document.body.append(dialog)
  dialog.showModal()
  return promise
}

// ---- passkeys: browsers translate between JSON and what authenticators take

export async function signInWithPasskey() {
  const { sessionId, options } = await post('/api/auth/passkey/authenticate/begin')
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options)
  const credential = await navigator.credentials.get({ publicKey })
  return post('/api/auth/passkey/authenticate/finish', { sessionId, response: credential.toJSON() })
}

export async function addPasskey(name) {
  const { sessionId, options } = await post('/api/auth/passkey/register/begin')
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options)
  const credential = await navigator.credentials.create({ publicKey })
  return post('/api/auth/passkey/register/finish', { sessionId, name, response: credential.toJSON() })
}

export const canUsePasskeys = () => typeof PublicKeyCredential === 'function' && 'parseRequestOptionsFromJSON' in PublicKeyCredential
