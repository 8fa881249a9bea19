import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Process, start } from './processes.ts'
import { newFolder } from './world.ts'

const MODULE = '/usr/lib/nginx/modules/ngx_nchan_module.so'

/** nginx with Nchan (Debian: `libnginx-mod-nchan`), or undefined where it is not installed. */
export async function nchan(): Promise<Process | undefined> {
  if (!Bun.which('nginx') || !(await Bun.file(MODULE).exists())) return undefined
  const folder = newFolder()
  const port = await freePort()
  const config = join(folder, 'nginx.conf')
  writeFileSync(
    config,
    `load_module ${MODULE}; daemon off; master_process off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/error;
     worker_rlimit_nofile 65536;
     events { worker_connections 20000; }
     http {
       access_log off; client_body_temp_path ${folder}/body; nchan_shared_memory_size 256M;
       server {
         listen 127.0.0.1:${port};
         location /listen { nchan_subscriber websocket; nchan_channel_id all; nchan_subscriber_first_message newest; }
         location /create { nchan_publisher; nchan_channel_id all; nchan_message_buffer_length 1; }
       }
     }`,
  )
  // The shell becomes nginx, so that its process is the one that is measured and stopped.
  return start(['sh', '-c', `echo " is at http://127.0.0.1:${port}"; exec nginx -c ${config} -p ${folder}`], {})
}

async function freePort(): Promise<number> {
  const probe = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  const { port } = probe
  probe.stop(true)
  return port
}
