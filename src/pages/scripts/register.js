import { $, element, get, guarded, leave, nextPath, onSubmit, post, providerLinks, put, quoted } from './api.js'

const form = $('form')
const signIn = $('a', form)
signIn.search = location.search

// Invited people may register even if registration is closed, with the invited address.
let invite = sessionStorage.getItem('invite')

/** Adds links to register at a provider. Invited people return to their invitation. */
function offer(oauth) {
  if (oauth.length === 0) return
  const links = providerLinks(oauth, invite ? '/invite' : nextPath())
  form.after(element('div', { class: 'ways' }, element('p', { class: 'soft or' }, 'or'), ...links))
}

async function prepare() {
  const { registration, oauth } = await get('/api/auth/providers')
  if (!invite) {
    if (registration === 'closed')
      put(
        form,
        element('p', {}, 'This server does not accept new registrations. Ask its administrator for an invitation.'),
        signIn,
      )
    else offer(oauth)
    return
  }
  try {
    const { email, organization } = await post('/api/invites/preview', { token: invite })
    Object.assign($('[name=email]', form), { value: email, readOnly: true })
    form.prepend(element('p', { class: 'lead' }, 'Create an account to join ', quoted(organization.name), '.'))
    signIn.href = '/login?next=/invite'
    offer(oauth)
  } catch (problem) {
    invite = null
    sessionStorage.removeItem('invite')
    throw problem
  }
}

await guarded(form, prepare)()

onSubmit(form, async ({ name, email, password }) => {
  await post('/api/auth/register', { name, email, password, ...(invite && { inviteToken: invite }) })
  sessionStorage.removeItem('invite')
  // Whoever was invited has a team already; anyone else begins with the first steps.
  return leave(nextPath(invite ? '/' : '/welcome'))
})
