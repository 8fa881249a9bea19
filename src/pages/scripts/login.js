import {
  $,
  codeField,
  digits,
  element,
  get,
  guarded,
  leave,
  nextPath,
  onSubmit,
  post,
  providers,
  put,
  quoted,
  reasonFromFragment,
} from './api.js'
import { noPasskeys, signInWithPasskey } from './passkeys.js'

const form = $('#password')
const email = $('[name=email]', form)
const others = $('#others')
const done = () => leave(nextPath())
const onPress = (id, work) => $(id).addEventListener('click', guarded(others, work))
const address = () => {
  if (!email.reportValidity()) throw new Error('Type your e-mail address first.')
  return email.value
}

$('[role=alert]', form).textContent = reasonFromFragment() ?? ''
for (const link of document.querySelectorAll('main a')) link.search = location.search

onSubmit(form, async ({ email, password }) => {
  await post('/api/auth/login', { email, password })
  return done()
})

/** Also for links: one that is opened elsewhere shows a code to type here. */
function askForCode(to, ...told) {
  const typed = element(
    'form',
    {},
    codeField('Code'),
    element('p', { role: 'alert' }),
    element('button', {}, 'Sign in'),
  )
  onSubmit(typed, async ({ code }) => {
    await post('/api/auth/otp/verify', { email: to, code: digits(code) })
    return done()
  })
  others.remove()
  put(
    form,
    element('p', {}, ...told),
    typed,
    element('p', {}, element('a', { href: `/login${location.search}` }, 'Start again')),
  )
}

onPress('#code', async () => {
  const to = address()
  await post('/api/auth/otp/send', { email: to })
  askForCode(to, 'If ', quoted(to), ' can sign in here, a code of six digits is on its way. It works for ten minutes.')
  $('[name=code]').focus()
})

onPress('#link', async () => {
  const to = address()
  await post('/api/auth/magic-link/send', { email: to })
  askForCode(
    to,
    ...['If ', quoted(to), ' can sign in here, a link is on its way. Open it in this browser within 15 minutes.'],
    ' Opened elsewhere, it shows a code to type here.',
  )
})

const impossible = noPasskeys()
if (impossible) $('#passkey').replaceWith(element('p', { class: 'soft' }, ...impossible))
else
  onPress('#passkey', async () => {
    await signInWithPasskey()
    return done()
  })

// Whoever cannot learn of other ways can still use these.
const { oauth, registration } = await get('/api/auth/providers').catch(() => ({ oauth: [] }))
const target = (provider) => `/api/auth/oauth/${provider}?returnTo=${encodeURIComponent(nextPath())}`
others.append(
  ...oauth.map((provider) =>
    element('a', { class: 'button quiet', href: target(provider) }, `Continue with ${providers[provider]}`),
  ),
)
$('#new').hidden = registration !== 'open'
