ALTER TABLE "skills" ADD COLUMN "placeholders" text[] DEFAULT '{}' NOT NULL;
UPDATE "skills" SET "placeholders" = (array(SELECT DISTINCT m[1] FROM regexp_matches("content", '\{\{\s*([A-Za-z][A-Za-z0-9_]{0,39})\s*\}\}', 'g') m ORDER BY 1))[1:50] WHERE position('{{' in "content") > 0;
