import { check } from '../../../src/check.ts'
import type { ControlCommand } from '../../../src/control/command.ts'
import { createAdminCommand, setPasswordCommand } from '../../../src/features/accounts/control.ts'
import { Login, Register } from '../../../src/features/accounts/schema.ts'
import type { User } from '../../../src/features/users/schema.ts'
import type { TSchema } from '../../../src/schema.ts'
import { runControlCommand } from '../../operating/control.ts'
import { type CommonOptions, loadSettings } from '../../operating/settings.ts'
import { printResult, safeLine } from '../../terminal/output.ts'
import { Refusal } from '../../terminal/refusal.ts'

interface Options extends CommonOptions {
  email: string
  passwordStdin?: boolean
  json?: boolean
}

export async function createAdmin({ email, name, json, ...rest }: Options & { name: string }): Promise<void> {
  const user = await withPassword(
    'create',
    createAdminCommand,
    Register,
    (password) => ({ email, name, password }),
    rest,
  )
  printResult(json, { user: summary(user) }, `${safeLine(user.email)} is an administrator.`)
}

export async function resetPassword({ email, json, ...rest }: Options): Promise<void> {
  const user = await withPassword(
    'reset-password',
    setPasswordCommand,
    Login,
    (password) => ({ email, password }),
    rest,
  )
  printResult(
    json,
    { user: summary(user) },
    `${safeLine(user.email)} has a new password. All sessions, API keys and MCP tokens of the account have ended.`,
  )
}

const summary = ({ id, name, email, role }: User) => ({ id, name, email, role })

/** Reads the password from standard input only: other users of the computer can see a command's arguments. */
async function withPassword<I>(
  words: string,
  command: ControlCommand<I, User>,
  schema: TSchema,
  inputWith: (password: string) => I,
  { passwordStdin, ...common }: Omit<Options, 'email'>,
): Promise<User> {
  const config = loadSettings(common)
  if (!passwordStdin)
    throw new Refusal(
      `Pass the password on standard input: printf %s "$PASSWORD" | tutti admin ${words} … --password-stdin`,
    )
  const password = (await Bun.stdin.text()).replace(/\r?\n$/, '')
  const input = inputWith(password)
  const [problem] = check(schema, input)
  if (problem) throw new Refusal(problem.message)
  return runControlCommand(config, command, input)
}
