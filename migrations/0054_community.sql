CREATE TABLE "hidden_records" (
	"record_id" uuid PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"reason" text,
	"hidden_by_id" uuid,
	"hidden_at" timestamp(3) with time zone NOT NULL
);

CREATE TABLE "tracked_issues" (
	"id" uuid PRIMARY KEY NOT NULL,
	"repo" text NOT NULL,
	"number" integer NOT NULL,
	"title" text NOT NULL,
	"state" text NOT NULL,
	"labels" text[] NOT NULL,
	"author" text,
	"url" text NOT NULL,
	"updated_at" timestamp(3) with time zone NOT NULL
);

CREATE TABLE "tracked_repositories" (
	"repo" text PRIMARY KEY NOT NULL,
	"synced_at" timestamp(3) with time zone,
	"error" text
);

CREATE TABLE "marketplace_reports" (
	"record_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"reason" text NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	CONSTRAINT "marketplace_reports_record_id_user_id_pk" PRIMARY KEY("record_id","user_id")
);

CREATE TABLE "community_posts" (
	"id" uuid PRIMARY KEY NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"updated_at" timestamp(3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"deleted_at" timestamp(3) with time zone,
	"author_id" uuid NOT NULL,
	"title" text NOT NULL,
	"content" text NOT NULL,
	"status" text NOT NULL,
	"pinned" boolean DEFAULT false NOT NULL,
	"reason" text,
	"search" "tsvector" GENERATED ALWAYS AS (setweight(to_tsvector('simple', translate(left(coalesce("title", ''), 200000), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', '                                ')), 'A') || setweight(to_tsvector('simple', translate(left(coalesce("content", ''), 200000), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', '                                ')), 'B')) STORED
);

CREATE TABLE "community_reports" (
	"post_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"reason" text NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	CONSTRAINT "community_reports_post_id_user_id_pk" PRIMARY KEY("post_id","user_id")
);

ALTER TABLE "hidden_records" ADD CONSTRAINT "hidden_records_hidden_by_id_users_id_fk" FOREIGN KEY ("hidden_by_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
ALTER TABLE "marketplace_reports" ADD CONSTRAINT "marketplace_reports_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "community_posts" ADD CONSTRAINT "community_posts_author_id_users_id_fk" FOREIGN KEY ("author_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "community_reports" ADD CONSTRAINT "community_reports_post_id_community_posts_id_fk" FOREIGN KEY ("post_id") REFERENCES "public"."community_posts"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "community_reports" ADD CONSTRAINT "community_reports_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
CREATE UNIQUE INDEX "tracked_issues_number" ON "tracked_issues" USING btree ("repo","number");
CREATE INDEX "tracked_issues_updated" ON "tracked_issues" USING btree ("updated_at","id");
CREATE INDEX "marketplace_reports_user" ON "marketplace_reports" USING btree ("user_id");
CREATE INDEX "community_posts_created" ON "community_posts" USING btree ("created_at","id");
CREATE INDEX "community_posts_visible" ON "community_posts" USING btree ("created_at","id") WHERE "community_posts"."status" = 'visible' and "community_posts"."deleted_at" is null;
CREATE INDEX "community_posts_author" ON "community_posts" USING btree ("author_id");
CREATE INDEX "community_posts_search" ON "community_posts" USING gin ("search");
CREATE INDEX "community_reports_user" ON "community_reports" USING btree ("user_id");
