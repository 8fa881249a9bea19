import { $, canUsePasskeys, element, get, guarded, nextPath, onSubmit, post, reasonFromFragment, signInWithPasskey } from './api.js'

const form = $('#password')
const email = $('[name=email]', form)
const others = $('#others')
const done = () => location.assign(nextPath())
const address = () => {
  if (!email.reportValidity()) throw new Error('Type your e-mail address first.')
  return email.value
}

$('[role=alert]', form).textContent = reasonFromFragment() ?? ''

onSubmit(form, async ({ email, password }) => {
  await post('/api/auth/login', { email, password })
  done()
})

$('#code').addEventListener(
  'click',
  guarded(others, async () => {
    const to = address()
    await post('/api/auth/otp/send', { email: to })
    const typed = element(
      'form',
      {},
      element('p', {}, `If mail reaches ${to}, a code of six digits is on its way. It works for ten minutes.`),
      element(
        'label',
        {},
        'Code',
        element('input', { name: 'code', required: true, pattern: '[0-9]{6}', inputmode: 'numeric', autocomplete: 'one-time-code' }),
      ),
      element('p', { role: 'alert' }),
      element('button', {}, 'Sign in'),
    )
    onSubmit(typed, async ({ code }) => {
      await post('/api/auth/otp/verify', { email: to, code })
      done()
    })
    form.replaceWith(typed)
    $('input', typed).focus()
  }),
)

$('#link').addEventListener(
  'click',
  guarded(others, async () => {
    const to = address()
    await post('/api/auth/magic-link/send', { email: to })
    form.replaceWith(element('p', {}, `If mail reaches ${to}, a link is on its way. Open it in this browser within 15 minutes.`))
  }),
)

const passkey = $('#passkey')
if (canUsePasskeys())
  passkey.addEventListener(
    'click',
    guarded(others, async () => {
      await signInWithPasskey()
      done()
    }),
  )
else passkey.remove()

const names = { github: 'GitHub', google: 'Google', oidc: 'single sign-on' }
const { oauth, registration } = await get('/api/auth/providers')
for (const provider of oauth) {
  const target = `/api/auth/oauth/${provider}?returnTo=${encodeURIComponent(nextPath())}`
  others.append(element('a', { class: 'button quiet', href: target }, `Continue with ${names[provider]}`))
}
if (registration === 'open') $('#new').hidden = false
$('#new a').href = `/register${location.search}`
