-- Corrects the sums, and returns how many were wrong. Tasks wait meanwhile: if two did this at the same time, both would
-- add the same corrections.
CREATE OR REPLACE FUNCTION task_counts_mend() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE wrong integer;
BEGIN
  LOCK TABLE task_counts IN SHARE ROW EXCLUSIVE MODE;
  INSERT INTO task_counts (project_id, status, n) SELECT * FROM task_counts_wrong();
  GET DIAGNOSTICS wrong = ROW_COUNT;
  RETURN wrong;
END $$;

-- The sums now say up to which event they go, not up to which day. A job makes them again.
DELETE FROM event_days;
DELETE FROM meta WHERE key = 'event_days';

-- Adds the sums of the events after `first` up to `last`. Returns false if the sums do not end at `first`: somebody else
-- was faster. A day may get several rows of a kind, and readers add them up. Whoever changes sums waits for the others.
CREATE OR REPLACE FUNCTION event_days_add(first bigint, last bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  LOCK TABLE event_days IN SHARE ROW EXCLUSIVE MODE;
  IF coalesce((SELECT value::bigint FROM meta WHERE key = 'event_days'), 0) <> first THEN RETURN false; END IF;
  INSERT INTO event_days (day, n, organization_id, project_id, user_id, type, action, actor_kind, actor_id,
      credential_id, data)
    SELECT (at AT TIME ZONE 'UTC')::date, count(*)::int, organization_id, project_id, user_id, type, action,
      actor_kind, actor_id, CASE WHEN actor_kind = 'agent' THEN credential_id END,
      CASE WHEN data ? 'noun' THEN jsonb_build_object('noun', data->'noun') ELSE '{}'::jsonb END
    FROM events WHERE seq > first AND seq <= last AND organization_id IS NOT NULL AND type <> action
    GROUP BY 1, 3, 4, 5, 6, 7, 8, 9, 10, 11;
  INSERT INTO meta (key, value) VALUES ('event_days', last::text)
    ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value;
  RETURN true;
END $$;
