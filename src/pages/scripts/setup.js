import { $, element, onSubmit, post, put, quoted, secretFromFragment } from './api.js'

const form = $('form')
const token = secretFromFragment()

const noLongerWorks = () => [
  element('p', { role: 'alert' }, 'This set-up link no longer works: it was used, or replaced by a newer one.'),
  element(
    'p',
    {},
    'The server prints a new link each time it starts without an administrator. Open the newest one, or create the ' +
      'administrator on the machine itself with ',
    element('code', {}, 'tutti admin create'),
    '.',
  ),
  element('a', { class: 'button quiet', href: '/login' }, 'Sign in'),
]

if (token)
  onSubmit(form, async ({ name, email, password }) => {
    try {
      await post('/api/setup', { token, name, email, password })
    } catch (problem) {
      if (problem.status !== 410) throw problem
      return put(form, ...noLongerWorks())
    }
    put(
      form,
      element('p', {}, 'Done. You are signed in as ', quoted(email), ', the administrator of this server.'),
      element('a', { class: 'button', href: '/welcome' }, 'First steps'),
    )
  })
else $('[role=alert]', form).textContent = 'Open the link that the server printed when it started. It works once.'
