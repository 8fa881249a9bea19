import { join } from 'node:path'
import { userConfig } from './terminal/environment.ts'
import { Refusal } from './terminal/report.ts'

/** What keeps servers running on a system: where its files lie, what stands in them, and what to call. */
export interface Manager {
  file: string
  unit(command: readonly string[], user?: string): string
  /** After writing the file: from now on, and now. */
  install: string[][]
  /** So that it stays when its user signs out; only sometimes allowed. */
  stay: string[][]
  start: string[]
  stop: string[]
  /** So that it does not start again: before the file is removed, and after. */
  remove: string[][]
  forget: string[][]
  /** Prints `MainPID=` or `pid = `. */
  pid: string[]
  log: string
}

/** Root's service is the machine's; everybody else has his own. */
export function manager(platform: NodeJS.Platform, home: string, uid: number): Manager {
  if (platform === 'linux') return systemd(uid === 0)
  if (platform === 'darwin') return launchd(home, uid)
  throw new Refusal(
    'No service manager is known here. Use systemd on Linux or launchd on macOS, or start `tutti serve` yourself.',
  )
}

// ---- systemd

/** Words are read as a shell does; % is systemd's own, and so is $, but not in the name of the program. */
const word = (text: string, index: number): string => {
  const quoted = text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%')
  return `"${index === 0 ? quoted : quoted.replaceAll('$', '$$$$')}"`
}

/** Of the program itself, by filters on its calls: works for every user. MemoryDenyWriteExecute would stop the JIT. */
const CAUTION = `NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictNamespaces=yes
SystemCallArchitectures=native`
/** Of the machine: only root can have it so. A port below 1024 may be listened on. */
const MORE_CAUTION = `CapabilityBoundingSet=CAP_NET_BIND_SERVICE
AmbientCapabilities=CAP_NET_BIND_SERVICE
ProtectSystem=full
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectControlGroups=yes
ProtectClock=yes
PrivateDevices=yes`

function systemd(root: boolean): Manager {
  const systemctl = ['systemctl', ...(root ? [] : ['--user'])]
  return {
    file: root ? '/etc/systemd/system/tutti.service' : join(userConfig(), 'systemd', 'user', 'tutti.service'),
    unit: (command, user) => {
      if (/["'\\]/.test(command[0] as string))
        throw new Refusal('systemd starts no program with quotes or \\ in its path. Install it elsewhere.')
      return `[Unit]
Description=Tutti
${root ? 'Wants=network-online.target\nAfter=network-online.target\n' : ''}
[Service]
ExecStart=${command.map(word).join(' ')}
${user ? `User=${user}\n` : ''}Restart=on-failure
RestartSec=2
# Settings that are refused now will be refused again.
RestartPreventExitStatus=2
# Running requests are answered before it ends.
TimeoutStopSec=30
UMask=0077
${CAUTION}
${root ? `${MORE_CAUTION}\n` : ''}
[Install]
WantedBy=${root ? 'multi-user' : 'default'}.target
`
    },
    install: [
      [...systemctl, 'daemon-reload'],
      [...systemctl, 'enable', 'tutti'],
      [...systemctl, 'restart', 'tutti'],
    ],
    stay: root ? [] : [['loginctl', 'enable-linger']],
    start: [...systemctl, 'start', 'tutti'],
    stop: [...systemctl, 'stop', 'tutti'],
    remove: [[...systemctl, 'disable', 'tutti']],
    forget: [[...systemctl, 'daemon-reload']],
    pid: [...systemctl, 'show', '--property=MainPID', 'tutti'],
    log: `journalctl ${root ? '' : '--user '}-u tutti`,
  }
}

// ---- launchd

const xml = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
const LABEL = 'dev.tutti.server'

function launchd(home: string, uid: number): Manager {
  const root = uid === 0
  const file = join(root ? '/Library/LaunchDaemons' : join(home, 'Library', 'LaunchAgents'), `${LABEL}.plist`)
  const log = root ? '/Library/Logs/tutti.log' : join(home, 'Library', 'Logs', 'tutti.log')
  const domain = root ? 'system' : `gui/${uid}`
  const start = ['launchctl', 'bootstrap', domain, file]
  const stop = ['launchctl', 'bootout', `${domain}/${LABEL}`]
  return {
    file,
    unit: (command, user) => `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key><string>${LABEL}</string>
  <key>ProgramArguments</key>
  <array>${command.map((text) => `<string>${xml(text)}</string>`).join('')}</array>
${user ? `  <key>UserName</key><string>${xml(user)}</string>\n` : ''}  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <key>ExitTimeOut</key><integer>30</integer>
  <key>Umask</key><integer>63</integer>
  <key>StandardErrorPath</key><string>${xml(log)}</string>
</dict>
</plist>
`,
    // One that is there already is not replaced by another.
    install: [['sh', '-c', '"$@" 2>/dev/null; true', 'sh', ...stop], start],
    stay: [],
    start,
    stop,
    remove: [],
    forget: [],
    pid: ['launchctl', 'print', `${domain}/${LABEL}`],
    log,
  }
}
