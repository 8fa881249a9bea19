UPDATE "projects" SET "settings" = "settings" || '{"acceptance":"warn"}'::jsonb WHERE coalesce("settings"->>'acceptance', '') NOT IN ('enforce', 'agents', 'warn');
