-- expand
ALTER TABLE "projects" ADD COLUMN "color" text DEFAULT ('{green,blue,amber,violet,pink,teal,red,grey}'::text[])[1 + floor(random() * 8)::int] NOT NULL;
