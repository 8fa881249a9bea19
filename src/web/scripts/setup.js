// The token stands behind the #, so it never reaches a server log or a Referer header.
const form = document.querySelector('form')
const problem = document.querySelector('[role="alert"]')
form.addEventListener('submit', async (event) => {
  event.preventDefault()
  problem.textContent = ''
  const { name, email, password } = Object.fromEntries(new FormData(form))
  const answer = await fetch('/api/setup', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token: location.hash.slice(1), name, email, password }),
  })
  if (answer.ok) {
    history.replaceState(null, '', '/setup')
    form.replaceWith(
      Object.assign(document.createElement('p'), { textContent: `Done. ${email} is the administrator of this instance and signed in.` }),
    )
    return
  }
  const { detail } = await answer.json().catch(() => ({ detail: 'The server did not answer. Is it still running?' }))
  problem.textContent = detail
})
