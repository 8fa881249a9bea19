// Pages that a link in a mail opens. Opening one changes nothing; only the button does, because mail scanners open links too.
import { $, call, element, onSubmit, post, secretFromFragment, toLogin, whoAmI } from './api.js'

const form = $('form')
const token = secretFromFragment()
const tell = (...content) => form.replaceWith(...content)
const go = (text, href) => element('a', { class: 'button', href }, text)

const pages = {
  async '/magic'() {
    onSubmit(form, async () => {
      try {
        await post('/api/auth/magic-link/verify', { token })
        location.assign('/account')
      } catch (problem) {
        if (problem.code !== 'conflict.other_browser') throw problem
        const { code, email } = await post('/api/auth/magic-link/code', { token })
        tell(
          element('p', {}, `This link was asked for in another browser. To sign in there as ${email}, choose “E-mail me a code” and type:`),
          element('p', { class: 'code' }, code),
          element('p', { class: 'soft' }, 'If you did not ask for it, close this page and tell nobody the code.'),
        )
      }
    })
  },
  async '/reset'() {
    onSubmit(form, async ({ password }) => {
      await post('/api/auth/reset-password', { token, password })
      tell(element('p', {}, 'Your password is changed, and everything that was signed in is signed out.'), go('Sign in', '/login'))
    })
  },
  async '/verify-email'() {
    if (!(await whoAmI())) {
      sessionStorage.setItem('verify', token)
      return toLogin()
    }
    const kept = token || sessionStorage.getItem('verify')
    onSubmit(form, async () => {
      await post('/api/auth/verify-email', { token: kept })
      sessionStorage.removeItem('verify')
      tell(element('p', {}, 'Thank you. Your e-mail address is confirmed.'), go('Your account', '/account'))
    })
  },
  async '/confirm-email'() {
    onSubmit(form, async () => {
      await post('/api/auth/email-change/confirm', { token })
      tell(element('p', {}, 'Your e-mail address is changed. Sign in with the new one.'), go('Sign in', '/login'))
    })
  },
  async '/undo-email'() {
    onSubmit(form, async () => {
      await post('/api/auth/email-change/undo', { token })
      tell(
        element('p', {}, 'Your old address is back, everything that was signed in is signed out, and the password is gone. Set a new one.'),
        go('Set a password', '/forgot'),
      )
    })
  },
  async '/invite'() {
    const kept = token || sessionStorage.getItem('invite')
    const { organization, email, role, invitedBy } = await post('/api/invites/preview', { token: kept })
    $('#about', form).textContent = `${invitedBy?.name ?? 'Somebody'} invites ${email} to ${organization.name} as ${role}.`
    const user = await whoAmI()
    if (!user) {
      sessionStorage.setItem('invite', kept)
      $('button', form).remove()
      return $('[role=alert]', form).before(
        element(
          'div',
          { class: 'row' },
          go('Create an account', '/register'),
          element('a', { class: 'button quiet', href: '/login?next=/invite' }, 'I have one'),
        ),
      )
    }
    sessionStorage.removeItem('invite')
    onSubmit(form, async () => {
      await call('POST', `/api/invites/${kept}/accept`)
      tell(element('p', {}, `Welcome to ${organization.name}.`), go('Your account', '/account'))
    })
  },
  async '/forgot'() {
    onSubmit(form, async ({ email }) => {
      await post('/api/auth/forgot-password', { email })
      tell(element('p', {}, `If ${email} has an account here, a link to set a new password is on its way. It works for 30 minutes.`))
    })
  },
}

await pages[location.pathname]().catch((problem) => {
  $('[role=alert]', form).textContent = problem.message
})
