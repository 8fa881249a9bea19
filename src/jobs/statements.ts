const later = (n: number, times = 1) => `now() + $${n}::float8 * interval '${times} millisecond'`
const mine = 'where id = $1::text and lease = $2::text'

const insert = `insert into jobs (id, name, key, data, state, attempt, run_at, created_at)
  select id, name, key, data, 'waiting', 0, coalesce(run_at, now()), now()
  from jsonb_to_recordset($1::text::jsonb) as j (id text, name text, key text, data jsonb, run_at timestamptz)`

/**
 * DO UPDATE, not DO NOTHING: it locks the waiting job until our commit, so that it cannot run before our change is
 * visible.
 */
export const enqueue = `${insert} on conflict (name, key) where state = 'waiting' and key is not null
  do update set data = excluded.data, attempt = 0, run_at = least(jobs.run_at, excluded.run_at)`

export const schedule = `${insert} on conflict (id) do update set run_at = excluded.run_at
  where jobs.state = 'waiting' and jobs.run_at > excluded.run_at`

/**
 * Claims what is due: waiting jobs, and active ones whose lease expired. The last row holds the milliseconds until the
 * next one is due. $1 names, $2 ids we run already (a lease can expire while we are paused), $3 limit, $4 the new
 * lease, $5 its milliseconds, $6 names of which only one runs at a time. If several are due, one whose lease
 * expired goes first: it may still be running here, and taking it over stops it elsewhere. A lease far in the future
 * is ignored: it is from before the clock was set back.
 */
export const claim = `with due as materialized (
    select id from jobs where state <> 'failed' and run_at <= now() and name = any($1::text[]) and id <> all($2::text[])
      and not (name = any($6::text[]) and exists (
        select from jobs other where other.name = jobs.name and other.id <> jobs.id and (
          (other.state = 'active' and other.run_at > now() and other.run_at <= ${later(5, 2)})
          or (other.state <> 'failed' and other.run_at <= now()
            and (other.state, other.run_at, other.id) < (jobs.state, jobs.run_at, jobs.id)))))
    order by run_at limit $3::int for update skip locked),
  claimed as (
    update jobs set state = 'active', attempt = attempt + 1, lease = $4::text, run_at = ${later(5)}
    from due where jobs.id = due.id returning jobs.id, name, data::text, attempt)
  select id, name, data, attempt, extract(epoch from now())::float8 * 1000 from claimed
  union all select null, null, null, null, extract(epoch from min(run_at) - now())::float8 * 1000
    from jobs where state <> 'failed' and run_at > now() and name = any($1::text[])`

export const renew = `update jobs set run_at = ${later(3)}
  where id = any($1::text[]) and lease = any($2::text[]) returning id`

export const remove = `delete from jobs ${mine}`

export const retry = `update jobs set state = 'waiting', lease = null, attempt = $3::int, error = $4::text,
    run_at = ${later(5)} ${mine}`

/** Also deletes old failed jobs: their number grows only here. */
export const bury = `with old as (delete from jobs where state = 'failed' and run_at < now() - interval '30 days')
  update jobs set state = 'failed', lease = null, error = $3::text, run_at = now() ${mine}`

/** Keeps the schedule; the failed attempt becomes its own row. */
export const buryScheduled = `with old as (delete from jobs
  where state = 'failed' and run_at < now() - interval '30 days'),
  next as (update jobs set state = 'waiting', lease = null, attempt = 0, run_at = ${later(4)} ${mine}
  returning name, data)
  insert into jobs (id, name, data, state, attempt, error, run_at, created_at)
  select $5::text, name, data, 'failed', $6::int, $3::text, now(), now() from next`

export const count = `select count(*) filter (where state = 'waiting' and id not like 'cron:%')::int,
  count(*) filter (where state = 'active')::int, count(*) filter (where state = 'failed')::int from jobs`
