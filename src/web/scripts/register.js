import { $, get, nextPath, onSubmit, post } from './api.js'

const form = $('form')
// Somebody who came by an invitation may register where others may not, with the address that was invited.
const invite = sessionStorage.getItem('invite')
if (invite) {
  const { email } = await post('/api/invites/preview', { token: invite }).catch(() => ({}))
  if (email) Object.assign($('[name=email]', form), { value: email, readOnly: true })
} else if ((await get('/api/auth/providers')).registration === 'closed') {
  form.replaceWith('This instance takes no new registrations. Ask its administrator for an invitation.')
}
onSubmit(form, async ({ name, email, password }) => {
  await post('/api/auth/register', { name, email, password, ...(invite && { inviteToken: invite }) })
  sessionStorage.removeItem('invite')
  location.assign(invite ? '/account' : nextPath())
})
