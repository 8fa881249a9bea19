// Pages that a link in a mail opens. Opening one changes nothing; only the button does, because mail scanners open
// links too.
import {
  $,
  askWhoCreated,
  call,
  element,
  guarded,
  kept,
  leave,
  onSubmit,
  post,
  put,
  quoted,
  secretFromFragment,
  toLogin,
  whoAmI,
} from './api.js'

const form = $('form')
const token = secretFromFragment()
const show = (...content) => put(form, ...content)
const go = (text, href, kind = 'button') => element('a', { class: kind, href }, text)
const paragraph = (...text) => element('p', {}, ...text)

/** Handles the form; `instead` is shown when the link no longer works. */
const onSubmitOr = (instead, work) =>
  onSubmit(form, async (input, pressed) => {
    try {
      return await work(input, pressed)
    } catch (problem) {
      if (problem.status !== 410) throw problem
      show(element('p', { role: 'alert' }, 'This link has been used or replaced, or has expired.'), instead)
    }
  })

const pages = {
  '/magic': () =>
    onSubmitOr(go('Sign in another way', '/login'), async () => {
      try {
        await post('/api/auth/magic-link/verify', { token }).catch(askWhoCreated('/'))
        return leave('/')
      } catch (problem) {
        if (problem.code !== 'conflict.other_browser') throw problem
        const { code, email } = await post('/api/auth/magic-link/code', { token })
        show(
          paragraph(
            'You requested this link in another browser. Go back there and enter this code to sign in as ',
            quoted(email),
            ':',
          ),
          element('p', { class: 'code' }, code),
          element('p', { class: 'soft' }, 'If you did not request it, close this page and do not share the code.'),
        )
      }
    }),
  '/reset': () =>
    onSubmitOr(go('Request a new link', '/forgot'), async ({ password }) => {
      await post('/api/auth/reset-password', { token, password }).catch(askWhoCreated('/'))
      show(paragraph('Your password was changed, and all sessions were signed out.'), go('Sign in', '/login'))
    }),
  async '/verify-email'(secret) {
    sessionStorage.removeItem('verify-email')
    if (!(await whoAmI())) {
      sessionStorage.setItem('verify-email', secret)
      return toLogin()
    }
    onSubmitOr(go('Request a new link', '/settings/security'), async () => {
      await post('/api/auth/verify-email', { token: secret })
      show(paragraph('Thank you. Your e-mail address is confirmed.'), go('Your account', '/settings/profile'))
    })
  },
  async '/confirm-email'(secret) {
    sessionStorage.removeItem('confirm-email')
    if (!(await whoAmI())) {
      sessionStorage.setItem('confirm-email', secret)
      return toLogin()
    }
    onSubmitOr(go('Request a new link', '/settings/security'), async () => {
      await post('/api/auth/email-change/confirm', { token: secret })
      show(paragraph('Your e-mail address was changed. Sign in with the new one.'), go('Sign in', '/login'))
    })
  },
  '/undo-email': () =>
    onSubmitOr(
      paragraph('If you lost control of your account, ask the administrator of this server for help.'),
      async () => {
        await post('/api/auth/email-change/undo', { token })
        show(
          paragraph(
            'Your old address was restored. All sessions were signed out, and the password was removed.',
            ' Set a new password now.',
          ),
          go('Set a password', '/forgot'),
        )
      },
    ),
  async '/invite'(secret) {
    const { organization, email, role, invitedBy } = await post('/api/invites/preview', { token: secret })
    const by = invitedBy ? quoted(invitedBy.name) : 'Someone'
    $('#about', form).append(by, ' invites ', quoted(email), ' to ', quoted(organization.name), ` as ${role}.`)
    const user = await whoAmI()
    if (user?.email.toLowerCase() === email.toLowerCase()) return answerInvite(secret, organization)
    // Kept until it is used: signing in and registering happen on other pages of this tab.
    sessionStorage.setItem('invite', secret)
    $('.row', form).replaceChildren(
      ...(user
        ? [paragraph('You are signed in as ', quoted(user.email), '.'), element('button', { value: 'out' }, 'Sign out')]
        : [
            go('Create an account', '/register'),
            go('I already have an account', '/login?next=/invite', 'button quiet'),
          ]),
    )
    onSubmit(form, async () => {
      await call('POST', '/api/auth/logout')
      location.reload()
    })
  },
}

function answerInvite(secret, organization) {
  sessionStorage.removeItem('invite')
  $('.row', form).append(element('button', { class: 'quiet', value: 'decline' }, 'Decline'))
  onSubmitOr(go('Your account', '/settings/profile'), async (_, pressed) => {
    const verb = pressed === 'decline' ? 'decline' : 'accept'
    await call('POST', `/api/invites/${encodeURIComponent(secret)}/${verb}`)
    show(
      verb === 'accept'
        ? paragraph('Welcome to ', quoted(organization.name), '.')
        : paragraph('You declined the invitation.'),
      go('Your account', '/settings/profile'),
    )
  })
}

await guarded(form, async () => {
  const path = location.pathname.replace(/\/$/, '')
  if (path === '/forgot')
    return onSubmit(form, async ({ email }) => {
      const mailed = await post('/api/auth/forgot-password', { email })
      show(
        paragraph(
          'If ',
          quoted(email),
          ` has an account here, we ${mailed.sent ? 'sent' : 'created'} a link to set a new password.`,
          ' The link is valid for 30 minutes.',
        ),
        mailed.sent ? undefined : kept(mailed),
        go('Back to sign-in', '/login', ''),
      )
    })
  // Stored when the user had to sign in first.
  const secret = token || sessionStorage.getItem(path.slice(1))
  if (!secret) throw new Error('This page needs the link from the mail. Open that link again.')
  await pages[path](secret)
})()
