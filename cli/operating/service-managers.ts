import { join } from 'node:path'
import { userConfig } from '../terminal/environment.ts'
import { Refusal } from '../terminal/refusal.ts'

/** A system's service manager: where its unit file is, what is in it, and which commands to run. */
export interface ServiceManager {
  file: string
  /** `env`: what the service needs of the environment; others can read it. */
  unit(command: readonly string[], user?: string, env?: Readonly<Record<string, string>>): string
  /** Commands that enable and start the service, after the file was written. */
  install: string[][]
  /** Commands that keep the service running after its user signs out; not every user may run them. */
  stay: string[][]
  start: string[]
  stop: string[]
  /** Commands that disable the service: before and after the file is removed. */
  remove: string[][]
  forget: string[][]
  /** Prints `MainPID=` or `pid = `. */
  pid: string[]
  log: string
}

/** What can run as a service: the server, or the tunnel of this machine. */
export type ServiceKind = 'server' | 'tunnel'

/** Root's service belongs to the system; every other user has their own. */
export function serviceManager(
  platform: NodeJS.Platform,
  home: string,
  uid: number,
  what: ServiceKind = 'server',
): ServiceManager {
  if (platform === 'linux') return systemd(uid === 0, what)
  if (platform === 'darwin') return launchd(home, uid, what)
  throw new Refusal(
    'No supported service manager. Use systemd on Linux or launchd on macOS, or start `tutti serve` yourself.',
  )
}

// ---- systemd

/** Quotes a word for ExecStart. systemd expands % everywhere, and $ except in the program's path. */
const quoteWord = (text: string, index: number): string => {
  const quoted = text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%')
  return `"${index === 0 ? quoted : quoted.replaceAll('$', '$$$$')}"`
}

/** Hardening that works for every user. MemoryDenyWriteExecute is left out: it would stop the JIT compiler. */
const HARDENING = `NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictNamespaces=yes
SystemCallArchitectures=native`
/** Hardening that only root can set up. Keeps the right to listen on ports below 1024. */
const ROOT_HARDENING = `CapabilityBoundingSet=CAP_NET_BIND_SERVICE
AmbientCapabilities=CAP_NET_BIND_SERVICE
ProtectSystem=full
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectControlGroups=yes
ProtectClock=yes
PrivateDevices=yes`

function systemd(root: boolean, what: ServiceKind): ServiceManager {
  const systemctl = ['systemctl', ...(root ? [] : ['--user'])]
  const name = what === 'tunnel' ? 'tutti-tunnel' : 'tutti'
  return {
    file: root ? `/etc/systemd/system/${name}.service` : join(userConfig(), 'systemd', 'user', `${name}.service`),
    unit: (command, user, env = {}) => {
      if (/["'\\]/.test(command[0] as string))
        throw new Refusal('systemd cannot start a program with quotes or \\ in its path. Install it elsewhere.')
      return `[Unit]
Description=Tutti${what === 'tunnel' ? ' tunnel' : ''}
${root ? 'Wants=network-online.target\nAfter=network-online.target\n' : ''}
[Service]
ExecStart=${command.map(quoteWord).join(' ')}
${Object.entries(env)
  .map(([name, value]) => `Environment=${quoteWord(`${name}=${value}`, 0)}\n`)
  .join('')}${user ? `User=${user}\n` : ''}Restart=on-failure
RestartSec=2
# Exit code 2: invalid settings, which a restart does not fix.
RestartPreventExitStatus=2
# Open requests are finished before the server stops.
TimeoutStopSec=30
UMask=0077
${what === 'tunnel' ? '' : `${HARDENING}\n${root ? `${ROOT_HARDENING}\n` : ''}`}
[Install]
WantedBy=${root ? 'multi-user' : 'default'}.target
`
    },
    install: [
      [...systemctl, 'daemon-reload'],
      [...systemctl, 'enable', name],
      [...systemctl, 'restart', name],
    ],
    stay: root ? [] : [['loginctl', 'enable-linger']],
    start: [...systemctl, 'start', name],
    stop: [...systemctl, 'stop', name],
    remove: [[...systemctl, 'disable', name]],
    forget: [[...systemctl, 'daemon-reload']],
    pid: [...systemctl, 'show', '--property=MainPID', name],
    log: `journalctl ${root ? '' : '--user '}-u ${name}`,
  }
}

// ---- launchd

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

const envXml = (env: Readonly<Record<string, string>>): string => {
  const lines = Object.entries(env).map(([name, value]) => `<key>${name}</key><string>${escapeXml(value)}</string>`)
  return lines.length > 0 ? `  <key>EnvironmentVariables</key><dict>${lines.join('')}</dict>\n` : ''
}

function launchd(home: string, uid: number, what: ServiceKind): ServiceManager {
  const label = `dev.tutti.${what}`
  const logFile = what === 'tunnel' ? 'tutti-tunnel.log' : 'tutti.log'
  const root = uid === 0
  const file = join(root ? '/Library/LaunchDaemons' : join(home, 'Library', 'LaunchAgents'), `${label}.plist`)
  const log = root ? `/Library/Logs/${logFile}` : join(home, 'Library', 'Logs', logFile)
  const domain = root ? 'system' : `gui/${uid}`
  const start = ['launchctl', 'bootstrap', domain, file]
  const stop = ['launchctl', 'bootout', `${domain}/${label}`]
  return {
    file,
    unit: (command, user, env = {}) => `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key><string>${label}</string>
  <key>ProgramArguments</key>
  <array>${command.map((text) => `<string>${escapeXml(text)}</string>`).join('')}</array>
${envXml(env)}${user ? `  <key>UserName</key><string>${escapeXml(user)}</string>\n` : ''}  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <key>ExitTimeOut</key><integer>30</integer>
  <key>Umask</key><integer>63</integer>
  <key>StandardErrorPath</key><string>${escapeXml(log)}</string>
</dict>
</plist>
`,
    // bootstrap does not replace a service that is already loaded, so it is removed first.
    install: [['sh', '-c', '"$@" 2>/dev/null; true', 'sh', ...stop], start],
    stay: [],
    start,
    stop,
    remove: [],
    forget: [],
    pid: ['launchctl', 'print', `${domain}/${label}`],
    log,
  }
}
