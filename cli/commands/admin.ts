import type { User } from '../../src/features/accounts/schema.ts'
import { Register } from '../../src/features/accounts/schema.ts'
import { check } from '../../src/schema.ts'
import { machine } from '../machine.ts'
import { Refusal } from '../report.ts'
import { type CommonOptions, settingsOf } from '../settings.ts'

interface Options extends CommonOptions {
  email: string
  name: string
  passwordStdin?: boolean
}

export async function createAdmin({ email, name, passwordStdin, ...common }: Options): Promise<void> {
  const config = settingsOf(common)
  if (!passwordStdin)
    throw new Refusal('Give the password on standard input: printf %s "$PASSWORD" | tutti admin create … --password-stdin')
  const password = (await Bun.stdin.text()).replace(/\r?\n$/, '')
  const input = { email, name, password }
  const [problem] = check(Register, input)
  if (problem) throw new Refusal(problem.message)
  const user = (await machine(config, 'accounts.createAdmin', input)) as User
  console.log(`${user.email} is an administrator.`)
}
