// What the small pages share: calls to the API, forms, and the dialogs that ask once more.

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

export const field = (label, attributes) => element('label', {}, label, element('input', attributes))

/** What somebody else wrote, in a sentence of ours: it cannot turn the direction of the rest. */
export const quoted = (text) => element('bdi', {}, text)

/** Puts something in the place of something else, and the reader's attention there. */
export function put(old, ...content) {
  const place = element('div', { tabindex: '-1' }, ...content)
  old.replaceWith(place)
  place.focus()
}

// ---- calls

export class Problem extends Error {
  constructor(status, body) {
    super(
      body.errors?.map((e) => e.message).join(' ') || body.detail || 'The server did not answer. Is it still running?',
    )
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

/** Only one of what is asked for at the same time is done; the others get its answer. */
function once(work) {
  let running
  return () => {
    running ??= work().finally(() => {
      running = undefined
    })
    return running
  }
}

/** One after the other in all tabs, where the browser can: a refresh token that is used twice ends the session. */
const renew = once(async () => {
  const refresh = () => send('POST', '/api/auth/refresh', {})
  return navigator.locks ? navigator.locks.request('tutti refresh', refresh) : refresh()
})

const unlessSignedOut = (problem) => {
  if (problem.status !== 401) throw problem
}

/** The signed-in user, or undefined. */
export const whoAmI = () =>
  send('GET', '/api/auth/me')
    .catch((problem) => unlessSignedOut(problem) ?? renew().then(({ user }) => user))
    .catch(unlessSignedOut)

/** A wrong password there must not be sent twice. */
const signingIn = /^\/api\/auth\/(login|register|otp|magic-link|passkey\/authenticate|reset-password)/

/** Tries again after renewing an access token that has run out, and after the person has confirmed to be himself. */
export async function call(method, path, body) {
  let renewed = signingIn.test(path)
  let confirmed = false
  for (;;) {
    try {
      return await send(method, path, body)
    } catch (problem) {
      if (problem.status === 401 && !renewed) {
        renewed = true
        if (!(await renew().catch(unlessSignedOut))) return toLogin()
      } else if (problem.code === 'forbidden.reauth' && !confirmed) {
        confirmed = await confirmPerson()
        if (!confirmed) throw new Error('You have not confirmed that it is you, so nothing was done.')
      } else throw problem
    }
  }
}

export const get = (path) => call('GET', path)
export const post = (path, body = {}) => call('POST', path, body)

/** Every page of a list. */
export async function all(path) {
  const found = []
  for (let cursor = ''; cursor !== null; ) {
    const { items, nextCursor } = await get(`${path}?limit=200${cursor && `&cursor=${encodeURIComponent(cursor)}`}`)
    found.push(...items)
    cursor = nextCursor
  }
  return found
}

// ---- forms and buttons

/** Runs the work of a form or button, once at a time; what goes wrong is told beside it, until it goes well: nothing jumps meanwhile. */
export function guarded(place, work) {
  return async (event) => {
    event?.preventDefault()
    if (place.hasAttribute('aria-busy')) return
    const alert = $('[role=alert]', place) ?? place.appendChild(element('p', { role: 'alert' }))
    place.setAttribute('aria-busy', 'true')
    try {
      await work(event)
      alert.textContent = ''
    } catch (problem) {
      alert.textContent = problem.message
    } finally {
      place.removeAttribute('aria-busy')
    }
  }
}

/** Buttons in the pages are off until somebody listens: a browser that sends a form itself would put what was typed into the address. */
export function onSubmit(form, work) {
  form.addEventListener(
    'submit',
    guarded(form, (event) => work(Object.fromEntries(new FormData(form)), event.submitter?.value)),
  )
  for (const button of form.querySelectorAll('button')) button.disabled = false
}

// ---- going elsewhere

/** What comes after it never happens. */
export function leave(path) {
  location.replace(path)
  return new Promise(() => {})
}

export const toLogin = () => leave(`/login?next=${encodeURIComponent(location.pathname + location.search)}`)

/** A page of this instance and nothing else; the same rule as for `returnTo` of the API. */
export function nextPath() {
  const next = new URLSearchParams(location.search).get('next') ?? ''
  const page = /^\/(?!api(\/|$))(([\w~-][\w.~-]*\/)*[\w~-][\w.~-]*\/?)?(\?[\w.~=&%+:@,-]*)?$/
  return page.test(next) ? next : '/account'
}

// A page out of the browser's memory shows what it showed before, perhaps to somebody who has signed out since.
addEventListener('pageshow', ({ persisted }) => persisted && location.reload())

/** The secret stands behind the #, so it never reaches a server log or a Referer header; it leaves the address bar as well. */
export function secretFromFragment() {
  const secret = location.hash.slice(1)
  if (secret) history.replaceState(null, '', location.pathname + location.search)
  // Another link to the page that is open already.
  addEventListener('hashchange', () => location.reload())
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
  return Object.hasOwn(reasons, reason)
    ? reasons[reason]
    : 'It did not work at the other side. Try again, or use another way.'
}

export const providers = { github: 'GitHub', google: 'Google', oidc: 'single sign-on' }

// ---- dialogs

/** True when it was closed with `yes`. */
function ask(form) {
  const { promise, resolve } = Promise.withResolvers()
  const dialog = element('dialog', { 'aria-label': $('h2', form).textContent }, form)
  dialog.addEventListener('close', () => {
    dialog.remove()
    resolve(dialog.returnValue === 'yes')
  })
  document.body.append(dialog)
  dialog.showModal()
  return promise
}

const close = (answer) => (event) => event.target.closest('dialog').close(answer)
const cancel = () => element('button', { type: 'button', class: 'quiet', onclick: close('') }, 'Cancel')

/** Before something that cannot be undone. */
export const isSure = (question, about, verb) =>
  ask(
    element(
      'form',
      { method: 'dialog' },
      element('h2', {}, question),
      element('p', {}, ...about),
      element('div', { class: 'row' }, element('button', { value: 'yes' }, verb), cancel()),
    ),
  )

export const codeField = (label) =>
  field(label, {
    name: 'code',
    required: true,
    pattern: '\\s*(\\d\\s*){6}',
    title: 'Six digits',
    inputmode: 'numeric',
    autocomplete: 'one-time-code',
  })
export const digits = (code) => code.replace(/\s/g, '')

const confirmPerson = once(() => {
  const mail = element('button', { type: 'button', class: 'quiet' }, 'I have no password: mail me a code')
  const form = element(
    'form',
    {},
    element('h2', {}, 'Is it you?'),
    element('p', { class: 'soft' }, 'You signed in a while ago. Confirm once more who you are.'),
    field('Password', {
      name: 'password',
      type: 'password',
      required: true,
      maxlength: 128,
      autocomplete: 'current-password',
    }),
    mail,
    element('p', { role: 'alert' }),
    element('div', { class: 'row' }, element('button', {}, 'Confirm'), cancel()),
  )
  mail.addEventListener(
    'click',
    guarded(form, async () => {
      const { email } = await get('/api/auth/me')
      await post('/api/auth/otp/send', { email })
      $('label', form).replaceWith(codeField(`Code sent to ${email}`))
      mail.remove()
      $('input', form).focus()
    }),
  )
  onSubmit(form, async ({ code, password }) => {
    await post('/api/auth/reauth', code === undefined ? { password } : { code: digits(code) })
    form.closest('dialog').close('yes')
  })
  return ask(form)
})
