import { $, element, get, guarded, onSubmit, post, put, toLogin, whoAmI } from './api.js'

const form = $('form')
const code = $('[name=code]', form)
// Filled in from the address, but never submitted: someone else may have made the user open it.
const given = new URLSearchParams(location.search).get('code')
if (given) {
  code.value = given
  $('.lead', form).textContent = 'Continue only if your terminal or device shows exactly this code.'
}

const ago = (at) => {
  const seconds = Math.max(0, Math.round((Date.now() - Date.parse(at)) / 1000))
  return seconds < 90 ? `${seconds} seconds ago` : `${Math.round(seconds / 60)} minutes ago`
}
const fact = (name, value) => [element('dt', {}, name), element('dd', {}, value)]

function question(user, device, answer) {
  const ask = element(
    'form',
    {},
    element('h2', {}, 'Did you start this sign-in?'),
    element(
      'dl',
      {},
      ...fact('Device', device.clientName),
      ...fact('Address', device.ip ?? 'unknown'),
      ...fact('Requested', ago(device.createdAt)),
      ...fact('Your account', user.email),
    ),
    element(
      'p',
      {},
      'The device will be able to do everything you can do. If you did not start this sign-in, deny it.',
    ),
    element('p', { role: 'alert' }),
    element(
      'div',
      { class: 'row' },
      element('button', { value: 'yes' }, 'Yes, sign in the device'),
      element('button', { value: 'no', class: 'quiet' }, 'No, deny'),
    ),
  )
  onSubmit(ask, async (_, pressed) => {
    const deny = pressed !== 'yes'
    await answer(deny)
    put(
      ask,
      element(
        'p',
        {},
        deny ? 'Denied. The device has no access.' : 'Done. The device is signed in; you can close this page.',
      ),
    )
  })
  return ask
}

await guarded(form, async () => {
  const user = await whoAmI()
  if (!user) return toLogin()
  onSubmit(form, async ({ code: userCode }) => {
    const device = await get(`/api/auth/device/${encodeURIComponent(userCode)}`)
    if (device.status !== 'pending') throw new Error('You have already approved or denied this request.')
    put(
      form,
      question(user, device, (deny) => post('/api/auth/device/approve', { userCode, ...(deny && { deny }) })),
    )
  })
})()
