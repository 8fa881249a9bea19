import { $, call, element, onSubmit, post, toLogin, whoAmI } from './api.js'

if (!(await whoAmI())) toLogin()

const form = $('form')
const code = $('[name=code]', form)
// Filled in from the address, but never submitted: whoever made you open it may not be you.
code.value = new URLSearchParams(location.search).get('code') ?? ''

const ago = (at) => {
  const seconds = Math.max(0, Math.round((Date.now() - Date.parse(at)) / 1000))
  return seconds < 90 ? `${seconds} seconds ago` : `${Math.round(seconds / 60)} minutes ago`
}

onSubmit(form, async ({ code: userCode }) => {
  const device = await call('GET', `/api/auth/device/${encodeURIComponent(userCode)}`)
  const answer = (deny) => async () => {
    await post('/api/auth/device/approve', { userCode, ...(deny && { deny }) })
    ask.replaceWith(
      element('p', {}, deny ? 'Refused. The device gets nothing.' : 'Done. The device is signed in; you can close this page.'),
    )
  }
  const ask = element(
    'form',
    {},
    element('h2', {}, 'Did you start this?'),
    element(
      'dl',
      {},
      element('dt', {}, 'Device'),
      element('dd', {}, device.clientName),
      element('dt', {}, 'Address'),
      element('dd', {}, device.ip ?? 'unknown'),
      element('dt', {}, 'Asked'),
      element('dd', {}, ago(device.createdAt)),
    ),
    element('p', {}, 'It will be able to do what you can do. If you did not just start this yourself, refuse.'),
    element('p', { role: 'alert' }),
    element(
      'div',
      { class: 'row' },
      element('button', { value: 'yes' }, 'Yes, sign it in'),
      element('button', { value: 'no', class: 'quiet' }, 'No, refuse'),
    ),
  )
  let refuse = false
  for (const button of ask.querySelectorAll('button')) button.addEventListener('click', () => (refuse = button.value === 'no'))
  onSubmit(ask, () => answer(refuse)())
  form.replaceWith(ask)
})
