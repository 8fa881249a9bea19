import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, platform, userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { Refusal } from '../report.ts'
import { type CommonOptions, settingsOf } from '../settings.ts'

/** Keeps the server running across logins and restarts, with what the system has for that. No root: it is the user's own service. */
interface Manager {
  file: string
  text: (command: string[]) => string
  /** Commands to run after writing, and before removing. */
  start: string[][]
  stop: string[][]
  status: string[]
}

const name = 'tutti'
const label = 'dev.tutti.server'

/** systemd reads words as a shell does, and % as its own. */
const systemdWord = (word: string): string => `"${word.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%')}"`
const xml = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

function manager(): Manager {
  if (platform() === 'linux') {
    return {
      file: join(homedir(), '.config', 'systemd', 'user', `${name}.service`),
      text: (command) => `[Unit]
Description=Tutti
After=network.target

[Service]
ExecStart=${command.map(systemdWord).join(' ')}
Restart=on-failure
RestartSec=2
# Running requests are answered before it ends.
TimeoutStopSec=30
UMask=0077
NoNewPrivileges=true

[Install]
WantedBy=default.target
`,
      start: [
        ['systemctl', '--user', 'daemon-reload'],
        ['systemctl', '--user', 'enable', '--now', name],
        ['loginctl', 'enable-linger', userInfo().username],
      ],
      stop: [
        ['systemctl', '--user', 'disable', '--now', name],
        ['systemctl', '--user', 'daemon-reload'],
      ],
      status: ['systemctl', '--user', '--no-pager', 'status', name],
    }
  }
  if (platform() === 'darwin') {
    const file = join(homedir(), 'Library', 'LaunchAgents', `${label}.plist`)
    const domain = `gui/${userInfo().uid}`
    return {
      file,
      text: (command) => `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict>
  <key>Label</key><string>${label}</string>
  <key>ProgramArguments</key><array>${command.map((word) => `<string>${xml(word)}</string>`).join('')}</array>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <key>Umask</key><integer>63</integer>
  <key>StandardErrorPath</key><string>${xml(join(homedir(), 'Library', 'Logs', 'tutti.log'))}</string>
</dict></plist>
`,
      start: [['launchctl', 'bootstrap', domain, file]],
      stop: [['launchctl', 'bootout', `${domain}/${label}`]],
      status: ['launchctl', 'print', `${domain}/${label}`],
    }
  }
  throw new Refusal('There is no service manager that is known here. Use systemd on Linux or launchd on macOS.')
}

interface Options extends CommonOptions {
  print?: boolean
}

export async function install({ print, ...common }: Options): Promise<void> {
  const { file, text, start } = manager()
  const config = settingsOf(common)
  const command = [
    process.execPath,
    'serve',
    '--data-dir',
    config.DATA_DIR,
    ...(common.config ? ['--config', common.config] : []),
    ...(common.port ? ['--port', common.port] : []),
    ...(common.host ? ['--host', common.host] : []),
  ]
  const unit = text(command)
  if (print) return console.log(unit.trimEnd())
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, unit)
  console.log(`Wrote ${file}`)
  for (const words of start) await run(words)
  console.log('The server runs, and will again after a restart of the machine.')
}

export async function uninstall(): Promise<void> {
  const { file, stop } = manager()
  if (!existsSync(file)) throw new Refusal(`${file} is not there: nothing is installed.`, 4)
  for (const words of stop) await run(words).catch((error: unknown) => console.error(`tutti: ${(error as Error).message}`))
  rmSync(file)
  console.log(`Removed ${file}. The data is untouched.`)
}

export async function status(): Promise<void> {
  const { file, status: words } = manager()
  if (!existsSync(file)) throw new Refusal('It is not installed as a service. Install it: tutti service install', 4)
  const shown = Bun.spawnSync(words, { stdout: 'inherit', stderr: 'inherit' })
  process.exitCode = shown.exitCode === 0 ? 0 : 6
}

async function run(words: string[]): Promise<void> {
  if (!Bun.which(words[0] as string))
    throw new Refusal(`${words[0]} is not on this machine. Start the server another way, with: tutti service install --print`, 6)
  const { exitCode, stderr } = Bun.spawnSync(words)
  if (exitCode !== 0) throw new Refusal(`${words.join(' ')} failed: ${stderr.toString().trim()}`, 6)
}
