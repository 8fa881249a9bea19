import { html, pageShell } from './pages.ts'

/** Pages to sign in, and those that mailed links open. Their scripts call the API. */
const field = (label: string, attributes: string): string => `<label>${html(label)} <input ${attributes}></label>`
const email = field('E-mail', 'name="email" type="email" required maxlength="254" autocomplete="username"')
const newPassword = (least: number, label = 'Password'): string =>
  `${field(label, `name="password" type="password" required minlength="${least}" maxlength="128" autocomplete="new-password" aria-describedby="rule"`)}
<span id="rule" class="soft small">At least ${least} characters. A few unrelated words make a good password.</span>`
const alert = '<p role="alert"></p>'

/** Disabled until the script is ready: see onSubmit() in api.js. */
const button = (text: string, kind = ''): string =>
  `<button disabled${kind && ` class="${kind}"`}>${html(text)}</button>`

const page = (title: string, script: string, body: string): string =>
  pageShell(
    `${title} · Tutti`,
    `<h1>${html(title)}</h1>${body}<noscript><p role="alert">This page needs JavaScript.</p></noscript>`,
    { script: `/assets/${script}.js`, kind: 'enter' },
  )

/** A page opened by a mailed link: nothing happens until the button is pressed. */
const link = (title: string, about: string, verb: string, fields = ''): string =>
  page(
    title,
    'links',
    `<form><p id="about" class="lead">${html(about)}</p>${fields}${alert}<div class="row">${button(verb)}</div></form>`,
  )

export const setupPage = page(
  'Set up Tutti',
  'setup',
  `<p class="lead">No one has an account yet. Create the administrator of this server.</p>
<form>${field('Name', 'name="name" required maxlength="100" autocomplete="name"')}
${email}
${newPassword(15)}
${alert}${button('Create administrator')}</form>`,
)

/** What a set-up link shows once there is an administrator. */
export const alreadySetUpPage = pageShell(
  'Already set up · Tutti',
  `<h1>This server is already set up</h1>
<p class="lead">The set-up link works only once. Sign in with the account that was created with it.</p>
<p class="row"><a class="button" href="/login">Sign in</a><a class="button quiet" href="/forgot">Forgot your password?</a></p>
<p class="soft small">If no administrator can sign in, create one on the machine that runs this server:
<code>tutti admin create</code></p>`,
)

export const accountPages: Record<string, string> = {
  '/login': page(
    'Sign in',
    'login',
    `<form id="password">${email}
${field('Password', 'name="password" type="password" required maxlength="128" autocomplete="current-password"')}
${alert}${button('Sign in')}<a href="/forgot">Forgot your password?</a></form>
<div id="others" class="ways"><p class="soft or">or</p>
<button type="button" class="quiet" id="passkey" disabled>Use a passkey</button>
<button type="button" class="quiet" id="code" disabled>E-mail me a code</button>
<button type="button" class="quiet" id="link" disabled>E-mail me a link</button></div>
<p id="new" hidden>New here? <a href="/register">Create an account</a></p>`,
  ),
  '/register': page(
    'Create an account',
    'register',
    `<form>${field('Name', 'name="name" required maxlength="100" autocomplete="name"')}
${email}
${newPassword(12)}
${alert}${button('Create account')}<a href="/login">I already have an account</a></form>`,
  ),
  '/device': page(
    'Sign in a device',
    'device',
    `<form><p class="lead">Enter the code that your terminal or device shows.</p>
${field('Code', 'name="code" required maxlength="40" autocomplete="off" autocapitalize="characters" spellcheck="false" placeholder="XXXX-XXXX" class="code"')}
${alert}${button('Continue')}</form>`,
  ),
  '/forgot': link('Forgot your password?', 'Request a link to set a new password.', 'Request a link', email),
  '/reset': link(
    'Set a new password',
    'This ends every session, key and token of your account.',
    'Set password',
    newPassword(12, 'New password'),
  ),
  '/magic': link('Sign in', 'Press the button to sign in.', 'Sign in'),
  '/confirm-account': page(
    'Confirm your account',
    'confirm',
    `${alert}<div id="question" hidden>
<p class="lead">This account was created before its address was confirmed. Did you create it?</p>
<form id="keep"><h2>Yes, I created it</h2>
<p class="soft">Sign in once to prove it. Everything in the account is kept.</p>
${field('Password', 'name="password" type="password" required maxlength="128" autocomplete="current-password"')}
${alert}${button('Keep everything and sign in')}</form>
<form id="remove"><h2>No, or I cannot prove it</h2>
<p class="soft">Sign in and remove the access that was set up before. Projects, tasks and other records are kept.</p>
<div id="holds"><p>These stop working:</p><ul></ul></div>
${alert}${button('Remove this access and sign in', 'quiet')}</form></div>`,
  ),
  '/verify-email': link(
    'Confirm your e-mail address',
    'Press the button to confirm that this address is yours.',
    'Confirm',
  ),
  '/confirm-email': link(
    'Change your e-mail address',
    'You will sign in with the address that this link was sent to.',
    'Change address',
  ),
  '/undo-email': link(
    'Undo the change of your e-mail address',
    'If you did not change your address, press the button.',
    'Restore my address',
  ),
  '/invite': link('You are invited', '', 'Accept'),
}
