import {
  $,
  askWhoCreated,
  codeField,
  digits,
  element,
  get,
  guarded,
  kept,
  leave,
  nextPath,
  onSubmit,
  post,
  providerLinks,
  put,
  quoted,
  showReason,
} from './api.js'
import { noPasskeys, signInWithPasskey } from './passkeys.js'

const form = $('#password')
const email = $('[name=email]', form)
const others = $('#others')
const done = () => leave(nextPath())
/** Enables the button, which is disabled until now: an earlier click would do nothing. */
function onPress(id, work) {
  const button = $(id)
  button.addEventListener('click', guarded(others, work))
  button.disabled = false
}
const address = () => {
  if (!email.reportValidity()) throw new Error('Enter your e-mail address first.')
  return email.value
}

showReason(form)
for (const link of document.querySelectorAll('main a')) link.search = location.search

onSubmit(form, async ({ email, password }) => {
  await post('/api/auth/login', { email, password })
  return done()
})

/** Also used for links: one opened in another browser shows a code to enter here. */
function askForCode(to, mailed, ...message) {
  const typed = element(
    'form',
    {},
    codeField('Code'),
    element('p', { role: 'alert' }),
    element('button', {}, 'Sign in'),
  )
  onSubmit(typed, async ({ code }) => {
    await post('/api/auth/otp/verify', { email: to, code: digits(code) }).catch(askWhoCreated(nextPath()))
    return done()
  })
  others.remove()
  put(
    form,
    element('p', {}, ...message),
    mailed.sent ? undefined : kept(mailed),
    typed,
    element('p', {}, element('a', { href: `/login${location.search}` }, 'Start again')),
  )
}

onPress('#code', async () => {
  const to = address()
  const mailed = await post('/api/auth/otp/send', { email: to })
  askForCode(
    to,
    mailed,
    'If ',
    quoted(to),
    ` can sign in here, we ${mailed.sent ? 'sent' : 'created'} a six-digit code. It is valid for ten minutes.`,
  )
  $('[name=code]').focus()
})

onPress('#link', async () => {
  const to = address()
  const mailed = await post('/api/auth/magic-link/send', { email: to })
  askForCode(
    to,
    mailed,
    'If ',
    quoted(to),
    ` can sign in here, we ${mailed.sent ? 'sent' : 'created'} a link. Open it in this browser within 15 minutes.`,
    ' If you open it in another browser, it shows a code to enter here.',
  )
})

const impossible = noPasskeys()
if (impossible) $('#passkey').replaceWith(element('p', { class: 'soft' }, ...impossible))
else
  onPress('#passkey', async () => {
    await signInWithPasskey()
    return done()
  })

// If this fails, the methods above still work.
const { oauth, registration, mail } = await get('/api/auth/providers').catch(() => ({ oauth: [] }))
if (mail?.kept) {
  $('#code').textContent = 'Use a code'
  $('#link').textContent = 'Use a link'
}
others.append(...providerLinks(oauth, nextPath()))
$('#new').hidden = registration !== 'open'
