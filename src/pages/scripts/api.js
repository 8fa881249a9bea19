// Shared by all pages: calls to the API, forms, and the dialog that confirms who it is.

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

/** User input inside our own text, isolated so that it cannot change the text direction of the rest. */
export const quoted = (text) => element('bdi', {}, text)

/** Replaces an element by new content, and moves the focus there. */
export function put(old, ...content) {
  const place = element('div', { tabindex: '-1' }, ...content)
  old.replaceWith(place)
  place.focus()
}

// ---- calls

export class Problem extends Error {
  constructor(status, body) {
    super(
      body.errors?.map((e) => e.message).join(' ') || body.detail || 'The server did not respond. Is it still running?',
    )
    this.status = status
    this.code = body.code
    this.ticket = body.ticket
    this.holds = body.holds
  }
}

async function send(method, path, body, headers = {}) {
  const answer = await fetch(path, {
    method,
    headers: body === undefined ? headers : { 'content-type': 'application/json', ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  }).catch(() => undefined)
  const json = await answer?.json().catch(() => ({}))
  if (!answer?.ok) throw new Problem(answer?.status ?? 0, json ?? {})
  return json
}

/** Concurrent calls share one run and its result. */
function once(work) {
  let running
  return () => {
    running ??= work().finally(() => {
      running = undefined
    })
    return running
  }
}

/** One at a time across all tabs, if the browser supports locks: a refresh token used twice ends the session. */
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

/** Not repeated after a 401: a wrong password must not be sent twice. */
const signingIn = /^\/api\/auth\/(login|register|otp|magic-link|passkey\/authenticate|reset-password|confirm-account)/

/** Repeats the request after renewing an expired access token, and after the person has confirmed their identity. */
export async function call(method, path, body, headers) {
  let renewed = signingIn.test(path)
  let confirmed = false
  for (;;) {
    try {
      return await send(method, path, body, headers)
    } catch (problem) {
      if (problem.status === 401 && !renewed) {
        renewed = true
        if (!(await renew().catch(unlessSignedOut))) return toLogin()
      } else if (problem.code === 'forbidden.reauth' && !confirmed) {
        confirmed = await confirmPerson()
        if (!confirmed) throw new Error('You did not confirm your identity, so nothing was changed.')
      } else throw problem
    }
  }
}

export const get = (path) => call('GET', path)
export const post = (path, body = {}) => call('POST', path, body)

// ---- forms and buttons

/**
 * Runs the work of a form or button, one at a time. An error is shown beside it until the next success, so that the
 * layout does not jump.
 */
export function guarded(place, work) {
  return async (event) => {
    event?.preventDefault()
    if (place.hasAttribute('aria-busy')) return
    const alertOf = () => $('[role=alert]', place) ?? place.appendChild(element('p', { role: 'alert' }))
    const alert = alertOf()
    place.setAttribute('aria-busy', 'true')
    try {
      await work(event)
      alert.textContent = ''
    } catch (problem) {
      // The work may have replaced the content of the place.
      alertOf().textContent = problem.message
    } finally {
      place.removeAttribute('aria-busy')
    }
  }
}

/**
 * Enables the buttons, which are disabled until now: a browser that submits a form itself would put the input into the
 * address.
 */
export function onSubmit(form, work) {
  form.addEventListener(
    'submit',
    guarded(form, (event) => work(Object.fromEntries(new FormData(form)), event.submitter?.value)),
  )
  for (const button of form.querySelectorAll('button')) button.disabled = false
}

// ---- navigation

/** Never resolves, so that no code after it runs. */
export function leave(path) {
  location.replace(path)
  return new Promise(() => {})
}

export const toLogin = () => leave(`/login?next=${encodeURIComponent(location.pathname + location.search)}`)

/** For a sign-in: opens the page that asks who created the account, if the server requires it. */
export const askWhoCreated = (next) => (problem) => {
  if (problem.code !== 'conflict.confirm_account') throw problem
  return leave(`/confirm-account?next=${encodeURIComponent(next)}#${problem.ticket}`)
}

/** Returns a path of this server only, by the rule that the API has for `returnTo`. */
export function nextPath(otherwise = '/') {
  const next = new URLSearchParams(location.search).get('next') ?? ''
  const page = /^\/(?!api(\/|$))(([\w~-][\w.~-]*\/)*[\w~-][\w.~-]*\/?)?(\?[\w.~=&%+:@,-]*)?$/
  return page.test(next) ? next : otherwise
}

// Pages restored from the browser's cache are reloaded: the user may have signed out since.
addEventListener('pageshow', ({ persisted }) => persisted && location.reload())

/**
 * The secret comes after the #, so it never reaches a server log or a Referer header; it leaves the address bar as
 * well.
 */
export function secretFromFragment() {
  const secret = location.hash.slice(1)
  if (secret) history.replaceState(null, '', location.pathname + location.search)
  // Another link to the page that is already open.
  addEventListener('hashchange', () => location.reload())
  return secret
}

const reasons = {
  access_denied: 'You did not allow access at the provider.',
  conflict: 'The provider did not share your e-mail address. Allow this at the provider, or sign in another way.',
  'conflict.exists':
    'This identity or its e-mail address already belongs to an account. Sign in another way, then connect it there.',
  forbidden: 'This server does not accept new registrations.',
  'forbidden.reauth': 'Sign in again to confirm your identity, then connect the account.',
  unauthenticated: 'This account cannot sign in.',
}

/** Shows why the user has to sign in again, or why signing in at a provider failed. */
export function showReason(form) {
  const reason = new URLSearchParams(location.hash.slice(1)).get('error')
  if (!reason) return
  history.replaceState(null, '', location.pathname + location.search)
  // Not a failure, so it is shown as a note.
  if (reason === 'session_ended')
    return form.prepend(element('p', { class: 'note', role: 'status' }, 'Your session has ended. Sign in to continue.'))
  $('[role=alert]', form).textContent = Object.hasOwn(reasons, reason)
    ? reasons[reason]
    : 'Signing in at the provider failed. Try again, or sign in another way.'
}

/** Shows that the server stores mail instead of sending it, and who can read it. */
export const kept = ({ detail }) => element('p', { class: 'note' }, detail)

const providers = { github: 'GitHub', google: 'Google', oidc: 'single sign-on' }

/** Returns links to sign in or register at these providers. */
export const providerLinks = (names, returnTo, attributes = {}) =>
  names.map((provider) =>
    element(
      'a',
      {
        class: 'button quiet',
        href: `/api/auth/oauth/${provider}?returnTo=${encodeURIComponent(returnTo)}`,
        ...attributes,
      },
      `Continue with ${providers[provider]}`,
    ),
  )

// ---- the dialog

/** Returns true if the dialog was closed with `yes`. */
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
  const mail = element('button', { type: 'button', class: 'quiet' }, 'I have no password: use a code')
  const form = element(
    'form',
    {},
    element('h2', {}, 'Confirm your identity'),
    element('p', { class: 'soft' }, 'You signed in a while ago. Enter your password to continue.'),
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
      const mailed = await post('/api/auth/otp/send', { email })
      $('label', form).replaceWith(codeField(mailed.sent ? `Code sent to ${email}` : 'Code'))
      mail.replaceWith(...(mailed.sent ? [] : [kept(mailed)]))
      $('input', form).focus()
    }),
  )
  onSubmit(form, async ({ code, password }) => {
    await post('/api/auth/reauth', code === undefined ? { password } : { code: digits(code) })
    form.closest('dialog').close('yes')
  })
  return ask(form)
})
