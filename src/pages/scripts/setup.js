import { $, element, onSubmit, post, put, quoted, secretFromFragment } from './api.js'

const form = $('form')
const token = secretFromFragment()

if (token)
  onSubmit(form, async ({ name, email, password }) => {
    await post('/api/setup', { token, name, email, password })
    put(
      form,
      element('p', {}, 'Done. ', quoted(email), ' is the administrator of this instance and signed in.'),
      element('a', { class: 'button', href: '/account' }, 'Your account'),
    )
  })
else $('[role=alert]', form).textContent = 'Open the link that the server printed when it started. It works once.'
