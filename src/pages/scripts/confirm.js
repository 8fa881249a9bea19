// Asks who created an account whose address was not confirmed, after someone has proved access to its mailbox.
import {
  $,
  element,
  get,
  guarded,
  leave,
  nextPath,
  onSubmit,
  post,
  providerLinks,
  put,
  secretFromFragment,
} from './api.js'
import { noPasskeys, signInWithPasskey } from './passkeys.js'

const TICKET = 'confirm-account'
const PROVED = 'confirm-account-proved'

// Kept until the question is answered: the person may sign in at a provider and return.
const fresh = secretFromFragment()
if (fresh) sessionStorage.setItem(TICKET, fresh)
const ticket = fresh || sessionStorage.getItem(TICKET)
const question = $('#question')
const keep = $('#keep')

const names = {
  password: ['the password', 'the password'],
  passkeys: ['a passkey', 'passkeys'],
  identities: ['a connected identity', 'connected identities'],
  sessions: ['a browser that is signed in', 'browsers that are signed in'],
  devices: ['a device that is signed in', 'devices that are signed in'],
  keys: ['an API key', 'API keys'],
  tokens: ['an MCP token', 'MCP tokens'],
  grants: ['a program with access', 'programs with access'],
  tunnels: ['a machine with a tunnel', 'machines with a tunnel'],
  integrations: ['an integration', 'integrations'],
  guests: ['a guest of the personal space', 'guests of the personal space'],
}
const listed = (holds) =>
  Object.entries(names)
    .filter(([name]) => holds[name] > 0)
    .map(([name, [one, more]]) =>
      element('li', {}, holds[name] === 1 || name === 'password' ? one : `${holds[name]} ${more}`),
    )

function forget() {
  sessionStorage.removeItem(TICKET)
  sessionStorage.removeItem(PROVED)
}

const answer = async (choice) => {
  try {
    await post('/api/auth/confirm-account', { ticket, ...choice })
  } catch (problem) {
    if (problem.status !== 410) throw problem
    return tooLate()
  }
  forget()
  return leave(nextPath())
}

function tooLate() {
  forget()
  put(
    question,
    element('p', { role: 'alert' }, 'This question was already answered, or is older than ten minutes.'),
    element('a', { class: 'button', href: '/login' }, 'Sign in again'),
  )
}

/** Offers the other proofs that the account has. */
function offer({ passkeys, identities, password }, oauth) {
  const others = []
  if (passkeys > 0) {
    const button = element('button', { type: 'button', class: 'quiet' }, 'Use a passkey')
    button.addEventListener(
      'click',
      guarded(keep, async () => {
        await signInWithPasskey()
        return answer({ keep: true })
      }),
    )
    const impossible = noPasskeys()
    others.push(impossible ? element('p', { class: 'soft' }, ...impossible) : button)
  }
  const remember = () => sessionStorage.setItem(PROVED, '1')
  if (identities > 0) others.push(...providerLinks(oauth, location.pathname + location.search, { onclick: remember }))
  if (password === 0) for (const part of [$('label', keep), $('button:not([type])', keep)]) part.remove()
  if (password === 0 && others.length === 0) keep.remove()
  else if (others.length > 0) keep.append(element('div', { class: 'ways' }, ...others))
}

async function ask() {
  if (!ticket) throw new Error('This page has expired. Sign in again.')
  if (sessionStorage.getItem(PROVED)) {
    sessionStorage.removeItem(PROVED)
    await guarded(keep, () => answer({ keep: true }))()
  }
  const { holds } = await post('/api/auth/confirm-account', { ticket }).catch((problem) => {
    if (problem.status === 410) return tooLate() ?? {}
    if (problem.code !== 'conflict.confirm_account') throw problem
    return problem
  })
  if (!holds) return
  const { oauth } = await get('/api/auth/providers').catch(() => ({ oauth: [] }))
  $('#holds ul').append(...listed(holds))
  offer(holds, oauth)
  onSubmit(keep, ({ password }) => answer({ password }))
  onSubmit($('#remove'), () => answer({ remove: true }))
  question.hidden = false
}

await guarded($('main'), ask)()
